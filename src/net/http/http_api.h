#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "net/http/header_list.h"
#include "net/reply.h"
#include "net/socket/peer.h"

// The interface between the network layer and an application. No sockets and no nghttp2 in this file: it
// and what it includes are all of net/ that HTTP doors and their tests include.
namespace sluice::net {

// A complete request, of HTTP/1.1 or HTTP/2. Its views are valid until the handler returns.
struct HttpRequest {
  std::string_view method;  // "POST"
  std::string_view path;    // "/v1/authorize", still percent-encoded, without the query
  std::string_view query;   // "tenant=a&key=b", without the question mark
  std::span<const Header> headers;
  std::string_view body;
  const Peer* peer{};  // never null

  // The first header of that name, or an empty view. REQUIRES: name is lower case.
  std::string_view header(std::string_view name) const {
    for (const Header& h : headers)
      if (h.name == name) return h.value;
    return {};
  }
};

// The answer to a request. The object belongs to the connection and is reused: no allocation once warm. The
// network layer adds `content-length`, `date` and the connection headers.
struct HttpResponse {
  int status = 200;
  std::string_view content_type = "application/json";  // must be a literal
  HeaderList headers;
  std::string body;
};

// gRPC status codes by their standard numbers.
enum class GrpcCode : int {
  kOk = 0,
  kCancelled = 1,
  kUnknown = 2,
  kInvalidArgument = 3,
  kDeadlineExceeded = 4,
  kNotFound = 5,
  kAlreadyExists = 6,
  kPermissionDenied = 7,
  kResourceExhausted = 8,
  kFailedPrecondition = 9,
  kAborted = 10,
  kOutOfRange = 11,
  kUnimplemented = 12,
  kInternal = 13,
  kUnavailable = 14,
  kUnauthenticated = 16,
};

struct GrpcStatus {
  GrpcCode code = GrpcCode::kOk;
  std::string message;      // sent percent-encoded as grpc-message
  std::string details_bin;  // serialized google.rpc.Status, sent as grpc-status-details-bin; may be empty
};

// The answer to a unary call; reused like an HttpResponse.
struct GrpcResponse {
  GrpcStatus status;    // OK unless the handler says otherwise
  std::string message;  // encoded; not sent if the status is an error
};

// What a gRPC method learns about its caller. Its views are valid until the handler returns.
struct GrpcContext {
  std::string_view path;         // "/sluice.v1.RateLimiter/CheckAndIncrement"
  const HeaderList* metadata{};  // never null; `-bin` values are decoded already
  const Peer* peer{};            // never null
  std::int64_t deadline_us = 0;  // on the server's clock; 0: none
  // The first x-idempotency-key of the metadata, or an empty view, and how many there are. Every check needs
  // it, and must not search for it.
  std::string_view idempotency_key = {};
  std::uint32_t idempotency_keys = 0;

  // The first value of that name, or an empty view. REQUIRES: name is lower case.
  std::string_view header(std::string_view name) const {
    for (const auto& [known, value] : *metadata)
      if (known == name) return value;
    return {};
  }
};

// A streaming call, from the application's side. Belongs to one loop thread; all calls are made there.
class GrpcStream {
 public:
  virtual ~GrpcStream() = default;
  virtual void send(std::string_view message) = 0;
  // Whether the reader keeps up. If false, further messages are buffered in memory; a sender with more to
  // send continues in the handler's on_room(). A sender that ignores this for too long is cut off.
  virtual bool has_room() const = 0;
  virtual void finish(const GrpcStatus& status) = 0;  // nothing may be sent after it
};

// The application's side of a streaming call. Called only from its loop's thread. Destroyed when the call has
// ended, for whatever reason.
class GrpcStreamHandler {
 public:
  virtual ~GrpcStreamHandler() = default;
  virtual void on_message(std::string_view message) = 0;
  virtual void on_half_close() = 0;
  // The reader has taken everything that was sent, and there is room for more. Called only while the call is
  // open.
  virtual void on_room() {}
};

// `response` is where the encoded reply to a command is appended.
using RedisReply = Reply<std::string>;
using HttpReply = Reply<HttpResponse>;
using GrpcReply = Reply<GrpcResponse>;

// The application's side of one Redis protocol connection. Lives as long as the connection; called only from
// its loop's thread.
class RedisHandler {
 public:
  virtual ~RedisHandler() = default;

  // Answers a command. Returns false if this was the last command of the connection. The words are valid
  // until it returns. REQUIRES: `words` is not empty.
  virtual bool handle(std::span<const std::string_view> words, RedisReply& reply) = 0;

  // The memory that the handler keeps for the client, such as commands after MULTI. Cheap.
  virtual std::size_t held_bytes() const { return 0; }

  // Whether earlier commands have to be carried out before the next one may be handled. It ends with a late
  // reply. Cheap.
  virtual bool is_busy() const { return false; }
};

// The program behind the network: one instance per loop thread, called only from that thread, so it needs no
// locks. Its functions must not throw: they are called from C code that could not propagate an exception.
// After its destruction it must not answer anything.
class Application {
 public:
  virtual ~Application() = default;

  virtual void handle_http(const HttpRequest& request, HttpReply& reply) = 0;

  // A unary call. The response is new: OK, and an empty message.
  virtual void handle_unary(const GrpcContext& context, std::string_view message, GrpcReply& reply) = 0;

  // The kind of the method at this path for this peer: not every port serves every method.
  enum class MethodKind { kUnknown, kUnary, kStreaming };
  virtual MethodKind method_kind(std::string_view path, const Peer& peer) const = 0;

  // A streaming call has begun. `stream` stays valid until the handler is destroyed.
  virtual std::unique_ptr<GrpcStreamHandler> open_stream(const GrpcContext& context, GrpcStream& stream) = 0;

  // A new connection to a Redis protocol port. Null closes it. The peer outlives the handler.
  virtual std::unique_ptr<RedisHandler> open_redis(const Peer& /*peer*/) { return nullptr; }
};

}  // namespace sluice::net

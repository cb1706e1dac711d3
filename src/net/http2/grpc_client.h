#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

struct nghttp2_session;

namespace sluice::net {

// What all calls of a connection have in common.
struct GrpcTarget {
  std::string authority;  // "127.0.0.1:8080"
  bool tls = false;
  std::string authorization;  // empty: none
  std::string timeout;        // "1000m", what the server is told; empty: nothing
};

// How a call ended.
struct GrpcResult {
  std::uint32_t http2_error = 0;  // not 0: the stream was reset
  int http_status = 0;
  int grpc_status = -1;      // -1: the answer has none
  std::string grpc_message;  // with %XX as sent
  std::string body;          // message and prefix, up to GrpcClient::kAnswerBytesMax

  bool is_ok() const { return http2_error == 0 && http_status == 200 && grpc_status == 0; }
  // The message of a call that succeeded. nullopt: it is cut off or compressed.
  std::optional<std::string_view> message() const;
  // What went wrong. REQUIRES: !is_ok()
  std::string problem() const;
};

// The client side of one HTTP/2 connection that carries unary gRPC calls, on nghttp2, without the socket:
// calls go in, bytes come out; bytes go in, results come out. Not thread-safe.
//
//   GrpcClient client(target);                   // target outlives it
//   client.start(7, "/pkg.Service/Method", framed_message);
//   client.write(out);                           // bytes to send
//   client.read(received);
//   client.take_finished([](std::uint64_t call, const GrpcResult& result) { … });
//
// A call costs about a microsecond: the headers are the same bytes each time, of which HPACK sends indexes,
// and the memory of finished calls is used again.
class GrpcClient {
 public:
  static constexpr std::size_t kAnswerBytesMax = 64u << 10;

  explicit GrpcClient(const GrpcTarget& target);
  ~GrpcClient();
  GrpcClient(const GrpcClient&) = delete;
  GrpcClient& operator=(const GrpcClient&) = delete;

  // Starts a call. `call` is the caller's name for it, `framed` its message with the prefix. `path` lives as
  // long as the client. False: the connection accepts no further calls.
  bool start(std::uint64_t call, std::string_view path, std::string_view framed);

  // The stream of the call that was started last.
  std::int32_t last_stream() const { return last_stream_; }

  // Nobody waits for the call on this stream any more: the server is told so, the call has no result, and its
  // memory is free once that is sent.
  void cancel(std::int32_t stream);

  // Appends the bytes to send.
  void write(std::string& out);
  // The error is a sentence, and ends the connection.
  std::expected<void, std::string> read(std::string_view bytes);

  // Calls finished(call, result) for each call that has ended since the last time. Not from inside itself.
  template <class Finished>
  void take_finished(Finished&& finished) {
    for (std::size_t i = 0; i < finished_.size(); ++i) {
      finished(finished_[i]->id, static_cast<const GrpcResult&>(finished_[i]->result));
      recycle(*finished_[i]);
    }
    finished_.clear();
  }

  // The peer has shown that it speaks HTTP/2.
  bool is_greeted() const { return is_greeted_; }
  // The server has said that this connection accepts no further calls, or it has violated HTTP/2.
  bool is_closing() const { return is_closing_; }
  std::size_t running() const { return running_; }
  // Calls without a result.
  template <class Each>
  void each_running(Each&& each) const {
    for (const auto& call : calls_)
      if (call->is_running) each(call->id);
  }

 private:
  struct Call {
    std::uint64_t id = 0;
    bool is_running = false;
    bool is_cancelled = false;
    std::string request;
    std::size_t sent = 0;
    GrpcResult result;
  };
  struct Callbacks;  // for nghttp2, in the .cc file

  void recycle(Call& call) { free_.push_back(&call); }
  void finish(Call& call, std::uint32_t http2_error);

  const GrpcTarget& target_;
  nghttp2_session* session_ = nullptr;
  std::vector<std::unique_ptr<Call>> calls_;
  std::vector<Call*> free_;
  std::vector<Call*> finished_;
  std::size_t running_ = 0;
  std::int32_t last_stream_ = 0;
  bool is_greeted_ = false;
  bool is_closing_ = false;
};

}  // namespace sluice::net

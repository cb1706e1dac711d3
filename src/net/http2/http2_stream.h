#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/limits/stream_limits.h"
#include "net/deferred.h"
#include "net/http/http_api.h"

namespace sluice::net {

class Http2Session;

// One HTTP/2 request and its answer. Owned by its session, afterwards by the loop's pool, so that its memory
// is reused. Not thread-safe.
struct Http2Stream final : Waiter<HttpResponse>, Waiter<GrpcResponse>, GrpcStream {
  enum class Kind : std::uint8_t { kUndecided, kHttp, kUnary, kStreaming };

  Http2Session* session = nullptr;
  Http2Stream* previous = nullptr;  // in the session's list
  Http2Stream* next = nullptr;
  std::int32_t id = 0;
  Kind kind = Kind::kUndecided;

  // The request.
  static constexpr std::uint32_t kNone = ~0u;
  std::string method;
  std::string path;
  std::string authority;
  HeaderList headers;            // without pseudo-headers like :path
  std::size_t header_bytes = 0;  // as HTTP/2 counts them; may exceed the limit
  std::size_t header_count = 0;
  std::uint32_t content_type = kNone;  // indexes of headers that matter here
  std::uint32_t content_length = kNone;
  std::uint32_t grpc_timeout = kNone;
  std::uint32_t grpc_encoding = kNone;
  std::uint32_t grpc_accept_encoding = kNone;
  std::uint32_t idempotency_key = kNone;
  std::uint32_t idempotency_keys = 0;  // how many there are
  bool has_binary_metadata = false;
  bool headers_done = false;
  bool request_done = false;
  bool request_gzip = false;  // grpc-encoding: gzip
  bool has_message = false;   // a streaming call: the first one has arrived
  std::string body;
  std::size_t kept_bytes = 0;       // counted by the session until the stream is released
  std::size_t expanded_bytes = 0;   // counted by Http2Guard::count_unpacked()
  std::size_t discarded_bytes = 0;  // of the body, because the answer came before it
  std::int64_t started_us = 0;
  std::int64_t deadline_us = 0;  // 0: none

  // The answer.
  HttpResponse response;
  GrpcResponse grpc_response;  // of a unary call
  std::array<char, 8> status_text{};
  std::string length_text;
  std::string output;  // the body, or framed gRPC messages
  std::size_t output_sent = 0;
  std::size_t output_memory = 0;  // of `output`, as the session counts it
  std::string_view status_number;
  std::string status_message;
  std::string status_details;
  bool answered = false;            // the head of the answer has been submitted
  bool ended = false;               // nothing will be added to the answer
  bool all_sent = false;            // nghttp2 has written the end of it
  bool waiting_for_output = false;  // nghttp2 will be told when there is more
  bool answer_gzip = false;         // a message of the answer is compressed
  std::int64_t progress_us = 0;     // when the peer last took a part of the answer
  DeferredAnswers::Entry* deferred = nullptr;
  std::unique_ptr<GrpcStreamHandler> handler;

  // The value of a header by its index; empty if the index is kNone.
  std::string_view header(std::uint32_t number) const {
    return number == kNone ? std::string_view() : headers[number].value;
  }

  std::size_t unsent_bytes() const { return output.size() - output_sent; }

  // Clears everything but keeps the memory.
  void reset();

  void finish(HttpResponse&& late) override;
  void finish(GrpcResponse&& late) override;
  void expire() override;
  void send(std::string_view message) override;
  bool has_room() const override { return !ended && unsent_bytes() < kStreamOutputBytesWanted; }
  void finish(const GrpcStatus& the_status) override;
};

}  // namespace sluice::net

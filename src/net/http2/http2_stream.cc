#include "net/http2/http2_stream.h"

#include "base/limits.h"
#include "net/http2/http2_session.h"

namespace sluice::net {
namespace {

// A string that once held something large does not keep the memory for ever.
void empty(std::string& text) {
  if (text.capacity() > kHeaderBytesMax)
    std::string().swap(text);
  else
    text.clear();
}

}  // namespace

void Http2Stream::reset() {
  handler.reset();
  session = nullptr;
  previous = next = nullptr;
  id = 0;
  kind = Kind::kUndecided;
  headers.clear();
  header_bytes = header_count = 0;
  method.clear();
  path.clear();
  authority.clear();
  content_type = content_length = grpc_timeout = grpc_encoding = grpc_accept_encoding = idempotency_key =
      kNone;
  idempotency_keys = 0;
  has_binary_metadata = headers_done = request_done = request_gzip = has_message = false;
  empty(body);
  expanded_bytes = discarded_bytes = kept_bytes = 0;
  started_us = deadline_us = 0;

  response.status = 200;
  response.content_type = "application/json";
  response.headers.clear();
  empty(response.body);
  grpc_response.status.code = GrpcCode::kOk;
  empty(grpc_response.status.message);
  empty(grpc_response.status.details_bin);
  empty(grpc_response.message);
  empty(output);
  output_sent = output_memory = 0;
  empty(status_message);
  empty(status_details);
  answered = ended = all_sent = waiting_for_output = answer_gzip = false;
  progress_us = 0;
}

void Http2Stream::finish(HttpResponse&& late) {
  deferred = nullptr;
  response = std::move(late);
  session->submit_http(*this);
  session->host_.output_ready();
}

void Http2Stream::finish(GrpcResponse&& late) {
  deferred = nullptr;
  grpc_response = std::move(late);
  session->send_unary(*this);
  session->host_.output_ready();
}

void Http2Stream::expire() {
  deferred = nullptr;
  if (ended) return;
  session->fail_grpc(*this, GrpcCode::kDeadlineExceeded, "the deadline has passed");
  session->host_.output_ready();
}

void Http2Stream::send(std::string_view message) {
  if (ended) return;
  session->send_message(*this, message);
  session->host_.output_ready();
}

void Http2Stream::finish(const GrpcStatus& status) {
  if (ended) return;
  session->submit_grpc_end(*this, status);
  session->host_.output_ready();
}

}  // namespace sluice::net

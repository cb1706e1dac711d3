#include "net/http2/http2_session.h"

#include <algorithm>
#include <cassert>
#include <charconv>
#include <cstring>

#include "net/http/http_text.h"
#include "net/http2/http2_callbacks.h"

namespace sluice::net {
namespace {

// After the first GOAWAY, requests may still be on their way to us for about this long.
constexpr std::int64_t kGoawayPauseUs = 100'000;

// Equality with a literal. The compiler knows its size and compares without calling memcmp.
template <std::size_t N>
bool is(std::string_view text, const char (&literal)[N]) {
  return text.size() == N - 1 && std::memcmp(text.data(), literal, N - 1) == 0;
}

}  // namespace

Http2Session::Http2Session(SessionContext& context, SessionHost& host, const Peer& peer)
    : context_(context),
      host_(host),
      peer_(peer),
      session_(Http2Callbacks::new_session(this, context.blocks)),
      idle_since_us_(context.now_us) {}

Http2Session::~Http2Session() {
  nghttp2_session_del(session_);
  while (streams_) release(*streams_);
}

void Http2Session::receive(std::span<char> bytes, std::string& out) {
  if (finished_) return;
  const auto mistake = frame_scan_.scan({bytes.data(), bytes.size()});
  const auto taken =
      nghttp2_session_mem_recv(session_, reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
  if (taken < 0) {
    // Too broken, or too greedy, for a graceful end.
    finished_ = true;
    return;
  }
  // A connection that once carried a large compressed message does not keep the memory while idle.
  if (unpacked_.capacity() > kHeaderBytesMax) std::string().swap(unpacked_);
  if (mistake != Http2FrameScan::Error::kNone) terminate(static_cast<std::uint32_t>(mistake));
  flush(out);
}

void Http2Session::flush(std::string& out) {
  if (finished_) return;
  out_ = &out;
  while (out.size() <= kUnreadOutputBytesMax) {
    const std::uint8_t* frame = nullptr;
    const auto bytes = nghttp2_session_mem_send(session_, &frame);
    if (bytes < 0) finished_ = true;
    if (bytes > 0)
      out.append(reinterpret_cast<const char*>(frame), static_cast<std::size_t>(bytes));
    else if (bytes < 0 || !handle_waiting())
      break;
  }
  out_ = nullptr;
  if (!nghttp2_session_want_read(session_) && !nghttp2_session_want_write(session_)) finished_ = true;
}

Http2Stream* Http2Session::find_stream(std::int32_t id) {
  if (recent_ && recent_->id == id) return recent_;
  return recent_ = static_cast<Http2Stream*>(nghttp2_session_get_stream_user_data(session_, id));
}

Http2Stream* Http2Session::open_stream(std::int32_t id) {
  std::unique_ptr<Http2Stream> fresh;
  if (context_.streams.empty()) {
    fresh = std::make_unique<Http2Stream>();
  } else {
    fresh = std::move(context_.streams.back());
    context_.streams.pop_back();
  }
  Http2Stream* stream = fresh.release();
  stream->session = this;
  stream->id = id;
  stream->started_us = context_.now_us;
  stream->next = streams_;
  if (streams_) streams_->previous = stream;
  streams_ = stream;
  ++open_streams_;
  recent_ = stream;
  nghttp2_session_set_stream_user_data(session_, id, stream);
  return stream;
}

void Http2Session::close_stream(Http2Stream& stream, std::uint32_t error_code) {
  if (error_code != NGHTTP2_NO_ERROR) count_reset();
  release(stream);
  idle_since_us_ = context_.now_us;
}

void Http2Session::release(Http2Stream& stream) {
  if (stream.deferred) context_.deferred.close(stream.deferred);
  stream.deferred = nullptr;
  (stream.previous ? stream.previous->next : streams_) = stream.next;
  if (stream.next) stream.next->previous = stream.previous;
  if (recent_ == &stream) recent_ = nullptr;
  if (in_headers_ == &stream) in_headers_ = nullptr;
  --open_streams_;
  drop_body(stream);
  kept_bytes_ -= stream.kept_bytes;
  count_sent(stream.unsent_bytes());
  output_memory_ -= stream.output_memory;
  std::unique_ptr<Http2Stream> released(&stream);
  if (context_.streams.size() >= kIdleStreamsMax) return;
  stream.reset();
  context_.streams.push_back(std::move(released));
}

void Http2Session::drop_body(Http2Stream& stream) {
  buffered_bytes_ -= stream.body.size();
  if (stream.body.capacity() > kHeaderBytesMax)
    std::string().swap(stream.body);
  else
    stream.body.clear();
}

void Http2Session::keep_bytes(Http2Stream& stream, std::size_t bytes) {
  stream.kept_bytes += bytes;
  kept_bytes_ += bytes;
}

void Http2Session::give_up_headers(std::int32_t stream_id) {
  nghttp2_submit_rst_stream(session_, NGHTTP2_FLAG_NONE, stream_id, NGHTTP2_ENHANCE_YOUR_CALM);
}

void Http2Session::add_header(Http2Stream& stream, std::string_view name, std::string_view value) {
  stream.header_bytes += name.size() + value.size() + kHeaderOverheadBytes;
  ++stream.header_count;
  if (stream.header_bytes > kHeaderBytesMax || stream.header_count > kHeaderCountMax) return;
  if (name.starts_with(':')) {
    if (is(name, ":path")) stream.path.assign(value);
    if (is(name, ":method")) stream.method.assign(value);
    if (is(name, ":authority")) stream.authority.assign(value);
    return;
  }
  const auto number = static_cast<std::uint32_t>(stream.headers.size());
  stream.headers.emplace_back(name, value);
  if (is(name, "content-type")) stream.content_type = number;
  if (is(name, "content-length")) stream.content_length = number;
  if (is(name, "grpc-timeout")) stream.grpc_timeout = number;
  if (is(name, "grpc-encoding")) stream.grpc_encoding = number;
  if (is(name, "grpc-accept-encoding")) stream.grpc_accept_encoding = number;
  if (is(name, "x-idempotency-key") && stream.idempotency_keys++ == 0) stream.idempotency_key = number;
  if (name.ends_with("-bin")) stream.has_binary_metadata = true;
}

void Http2Session::begin_request(Http2Stream& stream) {
  stream.headers_done = true;
  keep_bytes(stream, std::min(stream.header_bytes, kHeaderBytesMax));
  const std::string_view type = stream.header(stream.content_type);
  const bool is_grpc = type.starts_with("application/grpc");
  stream.kind = is_grpc ? Http2Stream::Kind::kUnary : Http2Stream::Kind::kHttp;
  if (stream.header_bytes > kHeaderBytesMax || stream.header_count > kHeaderCountMax) {
    count_reset();  // parsing them was work
    if (is_grpc) return fail_grpc(stream, GrpcCode::kResourceExhausted, "the request headers are too large");
    return refuse(stream, 431, "The request headers are too large or too many.");
  }
  if (is_grpc) return begin_grpc(stream);
  if (context_.application.method_kind(stream.path, peer_) != Application::MethodKind::kUnknown)
    return refuse(stream, 415, "This path requires content-type application/grpc.");
  const std::string_view length = stream.header(stream.content_length);
  std::uint64_t bytes = 0;
  std::from_chars(length.data(), length.data() + length.size(), bytes);
  if (bytes > kBodyBytesMax) refuse(stream, 413, "The body is too large.");
}

void Http2Session::add_data(Http2Stream& stream, std::string_view bytes) {
  if (terminated_) return;
  if (stream.ended) {  // answered already; the rest is not needed
    stream.discarded_bytes += bytes.size();
    if (stream.discarded_bytes > kDiscardedBodyBytesMax) reset(stream, NGHTTP2_NO_ERROR);
    return;
  }
  stream.body.append(bytes);
  buffered_bytes_ += bytes.size();
  if (buffered_bytes_ > kBufferedRequestBytesMax) return calm_down();
  if (stream.kind != Http2Stream::Kind::kHttp) return add_grpc_data(stream);
  if (stream.body.size() > kBodyBytesMax) refuse(stream, 413, "The body is too large.");
}

void Http2Session::end_request(Http2Stream& stream) {
  stream.request_done = true;
  if (stream.ended || terminated_) return;
  const bool may_wait = stream.kind != Http2Stream::Kind::kStreaming;
  if (may_wait && (!waiting_.empty() || !has_room_for_answer())) [[unlikely]]
    waiting_.push_back(stream.id);
  else
    handle_request(stream);
}

void Http2Session::handle_request(Http2Stream& stream) {
  has_served_ = true;
  if (stream.kind == Http2Stream::Kind::kHttp)
    handle_http(stream);
  else
    end_grpc(stream);
}

// A request is not handled while its peer has too many answers to read. The bodies of requests whose answers
// are deferred count as well: their answers may all come at once. Both become less by themselves, because
// answers that are not read are cancelled after a while.
bool Http2Session::has_room_for_answer() const {
  if (pending_output_bytes_ + kept_bytes_ <= kConnectionOutputBytesMax) [[likely]]
    return true;
  std::size_t expected = pending_output_bytes_;
  for (const Http2Stream* stream = streams_; stream; stream = stream->next)
    if (stream->deferred && stream->kind != Http2Stream::Kind::kStreaming) expected += stream->kept_bytes;
  return expected <= kConnectionOutputBytesMax;
}

// Handles the next request that waits, if there is room. Returns false if nothing was done.
bool Http2Session::handle_waiting() {
  while (!waiting_.empty() && !terminated_ && has_room_for_answer()) {
    Http2Stream* const stream = find_stream(waiting_.front());
    waiting_.pop_front();
    if (!stream || stream->ended) continue;
    handle_request(*stream);
    return true;
  }
  return false;
}

void Http2Session::handle_http(Http2Stream& stream) {
  if (context_.deferred.full()) return refuse(stream, 503, "Too many requests are waiting for an answer.");
  HttpRequest request;
  request.method = stream.method;
  split_target(stream.path, request.path, request.query);
  // HTTP/1's name for the authority. There is room: it was counted as a header.
  std::size_t count = 0;
  if (!stream.authority.empty()) context_.headers[count++] = {"host", stream.authority};
  for (const auto& header : stream.headers) context_.headers[count++] = header;
  request.headers = {context_.headers.data(), count};
  request.body = stream.body;
  request.peer = &peer_;
  SessionReply<HttpResponse> reply(stream.response, context_.deferred, stream, stream.deferred);
  context_.application.handle_http(request, reply);
  if (stream.deferred) keep_bytes(stream, stream.body.size());
  drop_body(stream);
  if (!stream.deferred && !stream.answered) submit_http(stream);
}

void Http2Session::refuse(Http2Stream& stream, int status, std::string_view detail) {
  stream.kind = Http2Stream::Kind::kHttp;
  drop_body(stream);
  set_problem(stream.response, status, detail);
  submit_http(stream);
}

void Http2Session::submit_http(Http2Stream& stream) {
  HttpResponse& response = stream.response;
  end_line(response);
  const auto status_end =
      std::to_chars(stream.status_text.begin(), stream.status_text.end(), response.status).ptr;
  const bool has_body = response.status != 204 && response.status != 304;
  std::array<nghttp2_nv, kHeaderCountMax> headers;
  std::size_t count = 0;
  headers[count++] = header_in_place(":status", {stream.status_text.data(), status_end});
  if (has_body) {
    stream.length_text.clear();
    append_number(stream.length_text, response.body.size());
    headers[count++] = header_in_place("content-type", response.content_type);
    headers[count++] = header_in_place("content-length", stream.length_text);
  }
  headers[count] = header_in_place("date", context_.date);
  headers[count++].flags = NGHTTP2_NV_FLAG_NO_COPY_NAME;  // the date may change before this is sent
  assert(response.headers.size() <= headers.size() - count);
  for (const auto& [name, value] : response.headers) {
    if (count == headers.size()) break;
    headers[count++] = header_in_place(name, value);
  }
  stream.ended = true;
  const bool sends_body = has_body && !response.body.empty() && stream.method != "HEAD";
  if (sends_body) {
    stream.output.swap(response.body);
    count_output(stream, stream.output.size());
  } else {
    std::string().swap(response.body);
  }
  const nghttp2_data_provider body = Http2Callbacks::body_of(&stream);
  nghttp2_submit_response(session_, stream.id, headers.data(), count, sends_body ? &body : nullptr);
  submitted(stream);
}

// A peer that has taken all but a byte of an answer still holds the whole.
void Http2Session::settle_output(Http2Stream& stream) {
  const std::size_t memory = heap_bytes(stream.output);
  output_memory_ += memory - stream.output_memory;
  stream.output_memory = memory;
}

void Http2Session::submitted(Http2Stream& stream) {
  stream.answered = true;
  stream.progress_us = context_.now_us;
  guard_.count_answer(context_.now_us);
}

// The answer may be complete before the request is. A gRPC client knows what a reset means then. Other
// clients treat a reset as a failure while they are still sending, and never read the answer; so they may
// send the rest.
void Http2Session::answer_sent(Http2Stream& stream) {
  stream.all_sent = true;
  if (stream.request_done) return;
  const bool may_go_on = stream.kind == Http2Stream::Kind::kHttp && !goaway_sent_ &&
                         stream.discarded_bytes <= kDiscardedBodyBytesMax;
  if (!may_go_on) reset(stream, NGHTTP2_NO_ERROR);
}

void Http2Session::reset(Http2Stream& stream, std::uint32_t error_code) {
  nghttp2_submit_rst_stream(session_, NGHTTP2_FLAG_NONE, stream.id, error_code);
}

void Http2Session::count_reset() {
  guard_.count_reset(context_.now_us);
  if (guard_.exceeded()) calm_down();
}

void Http2Session::calm_down() { terminate(NGHTTP2_ENHANCE_YOUR_CALM); }

void Http2Session::terminate(std::uint32_t error_code) {
  if (terminated_) return;
  terminated_ = true;
  nghttp2_session_terminate_session(session_, error_code);
}

// Answers owed by the application. Open streaming calls do not count: they last as long as their callers
// like.
bool Http2Session::owes_answer() const {
  for (const Http2Stream* stream = streams_; stream; stream = stream->next)
    if (stream->deferred && stream->kind != Http2Stream::Kind::kStreaming) return true;
  return false;
}

void Http2Session::shed(std::string& out) {
  if (!finished_) {
    calm_down();
    flush(out);
  }
  finished_ = true;  // nghttp2 is not called any more, so it does not miss these
  while (streams_) release(*streams_);
}

void Http2Session::tick(std::string& out) {
  if (finished_) return;
  for (Http2Stream* stream = streams_; stream; stream = stream->next) tick_stream(*stream);
  if (draining_ && !goaway_sent_ && !terminated_ && context_.now_us >= goaway_at_us_) {
    goaway_sent_ = true;  // from now on, no new streams
    for (Http2Stream* stream = streams_; stream; stream = stream->next) dismiss(*stream);
    nghttp2_submit_goaway(session_, NGHTTP2_FLAG_NONE, nghttp2_session_get_last_proc_stream_id(session_),
                          NGHTTP2_NO_ERROR, nullptr, 0);
  }
  if (open_streams_ == 0 && !terminated_ && context_.now_us - idle_since_us_ >= context_.timeouts.idle_us)
    terminate(NGHTTP2_NO_ERROR);
  flush(out);
}

void Http2Session::tick_stream(Http2Stream& stream) {
  if (stream.answered) return tick_answered(stream);
  if (stream.request_done || stream.has_message) return;
  if (context_.now_us - stream.started_us < context_.timeouts.request_us) return;
  if (!stream.headers_done) return calm_down();
  if (stream.kind == Http2Stream::Kind::kHttp)
    refuse(stream, 408, "The request took too long to arrive.");
  else
    fail_grpc(stream, GrpcCode::kCancelled, "the request took too long to arrive");
}

// A drain waits only for what ends by itself. The application could send the last message of a streaming call
// in the pause before the last GOAWAY.
void Http2Session::dismiss(Http2Stream& stream) {
  if (stream.kind == Http2Stream::Kind::kStreaming && !stream.ended)
    fail_grpc(stream, GrpcCode::kUnavailable, "the server is stopping");
  if (stream.all_sent) reset(stream, NGHTTP2_NO_ERROR);
}

void Http2Session::tick_answered(Http2Stream& stream) {
  if (stream.all_sent) {
    if (context_.now_us - stream.started_us >= context_.timeouts.request_us) reset(stream, NGHTTP2_NO_ERROR);
    return;
  }
  // While the peer does not read its answer, nghttp2 does not ask for more of it.
  const bool waits_for_peer = !stream.waiting_for_output;
  if (waits_for_peer && context_.now_us - stream.progress_us >= context_.timeouts.unread_answer_us)
    reset(stream, NGHTTP2_CANCEL);
}

void Http2Session::drain(std::string& out) {
  if (draining_ || finished_) return;
  draining_ = true;
  goaway_at_us_ = context_.now_us + kGoawayPauseUs;
  nghttp2_submit_shutdown_notice(session_);
  flush(out);
}

}  // namespace sluice::net

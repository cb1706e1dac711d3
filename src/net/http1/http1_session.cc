#include "net/http1/http1_session.h"

#include <cstring>

#include "net/http/http_text.h"

namespace sluice::net {
namespace {

constexpr std::size_t kKeptBytesMax = 1024;  // of each buffer, kept for the next request

}  // namespace

Http1Session::Http1Session(SessionContext& context, SessionHost& host, const Peer& peer)
    : context_(context), host_(host), peer_(peer), active_since_us_(context.now_us) {}

Http1Session::~Http1Session() {
  if (deferred_) context_.deferred.close(deferred_);
}

bool Http1Session::stopped(const std::string& out) const {
  return finished_ || deferred_ || answer_ready_ || out.size() > kUnreadOutputBytesMax;
}

void Http1Session::look_for_room(const std::string& out) {
  awaits_room_ = !input_.empty() && out.size() > kUnreadOutputBytesMax;
}

void Http1Session::receive(std::span<char> bytes, std::string& out) {
  if (finished_) return;
  if (!input_.empty()) {
    input_.append(bytes.data(), bytes.size());
    process_input(out);
    look_for_room(out);
    return;
  }
  const std::size_t used = process(bytes, out);
  // The timeout of a chunked body runs from its first byte, however slowly the rest arrives.
  if (!in_chunked_body_) active_since_us_ = context_.now_us;
  if (used == bytes.size() || finished_) return;
  input_.assign(bytes.data() + used, bytes.size() - used);
  look_for_room(out);
}

void Http1Session::process_input(std::string& out) {
  if (input_.size() < needed_bytes_) return;
  const std::size_t used = process({input_.data(), input_.size()}, out);
  if (used != 0) active_since_us_ = context_.now_us;
  if (used == input_.size() || finished_) {
    if (input_.capacity() > kKeptBytesMax) std::string().swap(input_);
    input_.clear();
  } else {
    input_.erase(0, used);
  }
}

std::size_t Http1Session::process(std::span<char> bytes, std::string& out) {
  std::size_t used = 0;
  while (used < bytes.size() && !stopped(out)) {
    const std::span<char> rest = bytes.subspan(used);
    const std::size_t taken = in_chunked_body_ ? take_chunks(rest, out) : take_request(rest, out);
    if (taken == 0) break;
    used += taken;
  }
  return used;
}

std::size_t Http1Session::take_request(std::span<char> bytes, std::string& out) {
  Http1Head head;
  const Http1ParseResult result = parse_http1_head(bytes, context_.headers, head);
  if (result.kind == Http1ParseResult::Kind::kIncomplete) return 0;
  if (result.kind == Http1ParseResult::Kind::kForeign) return finished_ = true, 0;
  if (result.kind == Http1ParseResult::Kind::kBad) return refuse(result.status, result.detail, out), 0;
  if (head.content_length > kBodyBytesMax) return refuse(413, "The body is too large.", out), 0;
  if (head.chunked) {
    chunked_head_.assign(bytes.data(), head.size);
    chunked_body_.clear();
    chunked_.reset();
    in_chunked_body_ = true;
    active_since_us_ = context_.now_us;
    if (head.expect_continue && bytes.size() == head.size) send_continue(out);
    return head.size;
  }
  const std::size_t size = head.size + static_cast<std::size_t>(head.content_length);
  if (bytes.size() < size) {
    needed_bytes_ = size;
    if (head.expect_continue && bytes.size() == head.size) send_continue(out);
    return 0;
  }
  needed_bytes_ = 0;
  handle(head, {bytes.data() + head.size, static_cast<std::size_t>(head.content_length)}, out);
  return size;
}

std::size_t Http1Session::take_chunks(std::span<char> bytes, std::string& out) {
  std::string_view rest(bytes.data(), bytes.size());
  switch (chunked_.decode(rest, chunked_body_)) {
    case ChunkedDecoder::State::kMore:
      break;
    case ChunkedDecoder::State::kBad:
      refuse(400, "The chunked body is malformed.", out);
      break;
    case ChunkedDecoder::State::kTooLarge:
      refuse(413, "The body is too large.", out);
      break;
    case ChunkedDecoder::State::kDone: {
      in_chunked_body_ = false;
      Http1Head head;
      parse_http1_head({chunked_head_.data(), chunked_head_.size()}, context_.headers, head);
      handle(head, chunked_body_, out);
      break;
    }
  }
  return bytes.size() - rest.size();
}

void Http1Session::send_continue(std::string& out) {
  if (continue_sent_) return;
  out += "HTTP/1.1 100 Continue\r\n\r\n";
  continue_sent_ = true;
}

void Http1Session::handle(const Http1Head& head, std::string_view body, std::string& out) {
  HttpRequest request;
  request.method = head.method;
  request.path = head.path;
  request.query = head.query;
  request.headers = {context_.headers.data(), head.header_count};
  request.body = body;
  request.peer = &peer_;

  continue_sent_ = false;
  head_only_ = head.method == "HEAD";
  keep_alive_ = head.keep_alive;
  http_1_0_ = head.http_1_0;
  response_.status = 200;
  response_.content_type = "application/json";
  response_.headers.clear();
  response_.body.clear();
  if (context_.deferred.full()) {
    set_problem(response_, 503, "Too many requests are waiting for an answer.");
  } else {
    SessionReply<HttpResponse> reply(response_, context_.deferred, *this, deferred_);
    has_served_ = true;
    context_.application.handle_http(request, reply);
  }
  if (deferred_) waiting_bytes_ = head.size + body.size();
  if (!deferred_ && !answer_ready_) send_answer(out);
}

// A connection that once carried something large does not keep the memory while idle.
void Http1Session::forget_request() {
  waiting_bytes_ = 0;
  for (std::string* text : {&chunked_head_, &chunked_body_, &response_.body})
    if (text->capacity() > kKeptBytesMax) std::string().swap(*text);
}

void Http1Session::send_answer(std::string& out) {
  const bool close = !keep_alive_ || draining_ || context_.draining;
  const bool no_body = response_.status == 204 || response_.status == 304;
  if (response_.status == 200) {
    out += "HTTP/1.1 200 OK\r\n";
  } else {
    out += "HTTP/1.1 ";
    append_number(out, static_cast<std::uint64_t>(response_.status));
    out += ' ';
    out += reason_phrase(response_.status);
    out += "\r\n";
  }
  if (!no_body) {
    end_line(response_);
    out += "content-type: ";
    out += response_.content_type;
    out += "\r\ncontent-length: ";
    append_number(out, response_.body.size());
    out += "\r\n";
  }
  out += "date: ";
  out += context_.date;
  out += "\r\n";
  out += response_.headers.http1_lines();
  if (close) {
    out += "connection: close\r\n";
  } else if (http_1_0_) {
    out += "connection: keep-alive\r\n";
  }
  out += "\r\n";
  if (!head_only_ && !no_body) out += response_.body;
  finished_ = close;
  forget_request();
}

void Http1Session::refuse(int status, std::string_view detail, std::string& out) {
  response_.headers.clear();
  set_problem(response_, status, detail);
  head_only_ = false;
  keep_alive_ = false;
  in_chunked_body_ = false;
  send_answer(out);
}

void Http1Session::shed(std::string& out) {
  const bool owes_nothing = finished_ || idle();
  if (deferred_) context_.deferred.close(deferred_);
  deferred_ = nullptr;
  answer_ready_ = awaits_room_ = in_chunked_body_ = false;
  std::string().swap(input_);
  forget_request();
  if (owes_nothing) return void(finished_ = true);
  refuse(503, "The server is out of memory for this request; try again.", out);
}

void Http1Session::finish(HttpResponse&& response) {
  deferred_ = nullptr;
  response_ = std::move(response);
  answer_ready_ = true;
  host_.output_ready();
}

void Http1Session::resume(std::string& out) {
  if (finished_) return;
  if (answer_ready_) {
    answer_ready_ = false;
    active_since_us_ = context_.now_us;
    send_answer(out);
  }
  if (!input_.empty() && !stopped(out)) process_input(out);
  look_for_room(out);
  if (input_ended_) end_of_input();
}

void Http1Session::end_of_input() {
  input_ended_ = true;
  // Otherwise input_ holds a partial request, whose rest will never arrive.
  if (!deferred_ && !answer_ready_ && !awaits_room_) finished_ = true;
}

void Http1Session::tick(std::string& out) {
  if (finished_ || deferred_ || answer_ready_ || awaits_room_) return;
  const std::int64_t waited_us = context_.now_us - active_since_us_;
  if (idle()) {
    finished_ = may_go() || waited_us >= context_.timeouts.idle_us;
    return;
  }
  const bool has_head = in_chunked_body_ || needed_bytes_ != 0;
  const std::int64_t allowed_us = has_head ? context_.timeouts.request_us : context_.timeouts.request_head_us;
  if (waited_us >= allowed_us) refuse(408, "The request took too long to arrive.", out);
}

void Http1Session::drain(std::string&) {
  draining_ = true;
  if (idle() && may_go()) finished_ = true;
}

bool Http1Session::may_go() const { return draining_ && context_.now_us >= context_.drain_idle_until_us; }

}  // namespace sluice::net

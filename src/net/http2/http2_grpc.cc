// The gRPC part of Http2Session.
#include <array>
#include <cassert>

#include "net/grpc/grpc_text.h"
#include "net/http2/http2_callbacks.h"
#include "net/http2/http2_session.h"

namespace sluice::net {
namespace {

constexpr std::string_view kAcceptedEncodings = "identity,gzip";

bool is_grpc_proto(std::string_view content_type) {
  content_type.remove_prefix(std::string_view("application/grpc").size());
  if (content_type.starts_with("+proto")) content_type.remove_prefix(6);
  return content_type.empty() || content_type.starts_with(';') || content_type.starts_with(' ');
}

bool list_contains(std::string_view list, std::string_view wanted) {
  while (!list.empty()) {
    const std::size_t comma = list.find(',');
    std::string_view element = list.substr(0, comma);
    while (element.starts_with(' ')) element.remove_prefix(1);
    while (element.ends_with(' ')) element.remove_suffix(1);
    if (element == wanted) return true;
    list = comma == std::string_view::npos ? std::string_view() : list.substr(comma + 1);
  }
  return false;
}

std::string_view status_number(GrpcCode code) {
  static constexpr std::array<std::string_view, 17> kNumbers = {
      "0", "1", "2", "3", "4", "5", "6", "7", "8", "9", "10", "11", "12", "13", "14", "15", "16"};
  const auto index = static_cast<std::size_t>(code);
  return index < kNumbers.size() ? kNumbers[index] : "2";
}

// Makes room for the prefix. A long message would take twice its memory with insert() alone.
void insert_prefix(std::string& message) {
  std::string longer;
  if (message.capacity() < message.size() + kGrpcPrefixBytes) {
    longer.reserve(message.size() + kGrpcPrefixBytes);
    longer.assign(message);
    message.swap(longer);
  }
  message.insert(0, kGrpcPrefixBytes, '\0');
}

// Writes the stream's status as headers and returns how many.
std::size_t add_trailers(const Http2Stream& stream, std::span<nghttp2_nv> headers) {
  std::size_t count = 0;
  headers[count++] = header_in_place("grpc-status", stream.status_number);
  if (!stream.status_message.empty())
    headers[count++] = header_in_place("grpc-message", stream.status_message);
  if (!stream.status_details.empty())
    headers[count++] = header_in_place("grpc-status-details-bin", stream.status_details);
  return count;
}

}  // namespace

void Http2Session::begin_grpc(Http2Stream& stream) {
  if (stream.method != "POST") {
    stream.response.headers.emplace_back("allow", "POST");
    return refuse(stream, 405, "gRPC calls are made with POST.");
  }
  if (!is_grpc_proto(stream.header(stream.content_type)))
    return refuse(stream, 415,
                  "The only supported gRPC content types are application/grpc and application/grpc+proto.");
  const auto kind = context_.application.method_kind(stream.path, peer_);
  if (kind == Application::MethodKind::kUnknown) {
    return fail_grpc(stream, GrpcCode::kUnimplemented, "unknown method " + stream.path);
  }
  if (stream.grpc_timeout != Http2Stream::kNone) {
    const auto timeout_us = parse_grpc_timeout_us(stream.header(stream.grpc_timeout));
    if (!timeout_us) return fail_grpc(stream, GrpcCode::kInternal, "malformed grpc-timeout");
    if (*timeout_us == 0) return fail_grpc(stream, GrpcCode::kDeadlineExceeded, "the deadline has passed");
    stream.deadline_us = stream.started_us + *timeout_us;
  }
  const std::string_view encoding = stream.header(stream.grpc_encoding);
  stream.request_gzip = encoding == "gzip";
  if (!encoding.empty() && !stream.request_gzip && encoding != "identity")
    return fail_grpc(stream, GrpcCode::kUnimplemented, "unknown grpc-encoding; supported: identity and gzip");
  if (kind == Application::MethodKind::kStreaming) open_streaming(stream);
}

// Checks what has arrived of a message, so that an invalid one is refused early.
void Http2Session::add_grpc_data(Http2Stream& stream) {
  if (stream.kind == Http2Stream::Kind::kStreaming) return add_streaming_data(stream);
  if (stream.body.size() < kGrpcPrefixBytes) return;
  const auto prefix = read_grpc_prefix(stream.body);
  if (!prefix) return fail_grpc(stream, GrpcCode::kInternal, "malformed message prefix");
  if (prefix->length > kBodyBytesMax)
    return fail_grpc(stream, GrpcCode::kResourceExhausted, "the message is larger than this server accepts");
  if (stream.body.size() > kGrpcPrefixBytes + prefix->length)
    fail_grpc(stream, GrpcCode::kInternal, "more than one message in a unary call");
}

void Http2Session::add_streaming_data(Http2Stream& stream) {
  std::size_t used = 0;
  const std::string_view body = stream.body;
  while (!stream.ended && body.size() - used >= kGrpcPrefixBytes) {
    const auto prefix = read_grpc_prefix(body.substr(used));
    if (!prefix) return fail_grpc(stream, GrpcCode::kInternal, "malformed message prefix");
    if (prefix->length > kBodyBytesMax)
      return fail_grpc(stream, GrpcCode::kResourceExhausted,
                       "the message is larger than this server accepts");
    if (body.size() - used < kGrpcPrefixBytes + prefix->length) break;
    std::string_view message = body.substr(used + kGrpcPrefixBytes, prefix->length);
    used += kGrpcPrefixBytes + prefix->length;
    if (!unpack(stream, prefix->compressed, message)) return;
    stream.has_message = true;
    stream.handler->on_message(message);
  }
  if (stream.ended) return drop_body(stream);
  stream.body.erase(0, used);
  buffered_bytes_ -= used;
}

void Http2Session::end_grpc(Http2Stream& stream) {
  if (stream.kind == Http2Stream::Kind::kStreaming) {
    if (!stream.body.empty()) return fail_grpc(stream, GrpcCode::kInternal, "the last message is incomplete");
    return stream.handler->on_half_close();
  }
  if (stream.body.empty()) return fail_grpc(stream, GrpcCode::kInternal, "a unary call needs a message");
  if (stream.body.size() < kGrpcPrefixBytes)
    return fail_grpc(stream, GrpcCode::kInternal, "the message is incomplete");
  const auto prefix = read_grpc_prefix(stream.body);  // checked by add_grpc_data()
  if (stream.body.size() != kGrpcPrefixBytes + prefix->length)
    return fail_grpc(stream, GrpcCode::kInternal, "the message is incomplete");
  std::string_view message = std::string_view(stream.body).substr(kGrpcPrefixBytes);
  if (!unpack(stream, prefix->compressed, message)) return;
  handle_unary(stream, message);
}

// Decompresses a message; ends the call and returns false if that fails.
bool Http2Session::unpack(Http2Stream& stream, bool compressed, std::string_view& message) {
  if (!compressed) return true;
  if (!stream.request_gzip)
    return fail_grpc(stream, GrpcCode::kInternal, "compressed message without grpc-encoding"), false;
  if (!guard_.may_unpack(context_.now_us)) {
    fail_grpc(stream, GrpcCode::kResourceExhausted,
              "too many compressed messages at once; send fewer, or send them uncompressed");
    return false;
  }
  unpacked_.clear();
  const Gzip::Outcome outcome = context_.gzip.unpack(message, kBodyBytesMax, unpacked_);
  stream.expanded_bytes += guard_.count_unpacked(message.size(), unpacked_.size());
  switch (outcome) {
    case Gzip::Outcome::kOk:
      message = unpacked_;
      return true;
    case Gzip::Outcome::kMalformed:
      fail_grpc(stream, GrpcCode::kInternal, "the message is not gzip");
      return false;
    case Gzip::Outcome::kTooLarge:
      break;
  }
  fail_grpc(stream, GrpcCode::kResourceExhausted,
            "the decompressed message is larger than this server accepts");
  return false;
}

// Fills in the context of a method; ends the call and returns false if the metadata is malformed.
bool Http2Session::make_grpc_context(Http2Stream& stream, GrpcContext& context) {
  context.path = stream.path;
  context.metadata = &stream.headers;
  context.peer = &peer_;
  context.deadline_us = stream.deadline_us;
  context.idempotency_key = stream.header(stream.idempotency_key);
  context.idempotency_keys = stream.idempotency_keys;
  if (!stream.has_binary_metadata) return true;
  decoded_metadata_.clear();
  for (const auto& [name, value] : stream.headers) {
    if (!name.ends_with("-bin")) {
      decoded_metadata_.emplace_back(name, value);
      continue;
    }
    // Values of the same name may have been joined with commas; the first one counts.
    std::string value_bytes;
    if (!append_base64_decoded(value_bytes, value.substr(0, value.find(','))))
      return fail_grpc(stream, GrpcCode::kInternal, "malformed binary metadata"), false;
    decoded_metadata_.emplace_back(name, value_bytes);
  }
  context.metadata = &decoded_metadata_;
  return true;
}

void Http2Session::handle_unary(Http2Stream& stream, std::string_view message) {
  if (stream.deadline_us != 0 && context_.now_us >= stream.deadline_us)
    return fail_grpc(stream, GrpcCode::kDeadlineExceeded, "the deadline has passed");
  if (context_.deferred.full())
    return fail_grpc(stream, GrpcCode::kUnavailable, "too many requests are waiting for an answer");
  GrpcContext context;
  if (!make_grpc_context(stream, context)) return;
  SessionReply<GrpcResponse> reply(stream.grpc_response, context_.deferred, stream, stream.deferred,
                                   stream.deadline_us);
  context_.application.handle_unary(context, message, reply);
  if (stream.deferred) keep_bytes(stream, stream.body.size());
  drop_body(stream);
  if (stream.deferred || stream.ended) return;
  send_unary(stream);
}

// Answers a unary call with `grpc_response`.
void Http2Session::send_unary(Http2Stream& stream) {
  if (stream.grpc_response.status.code != GrpcCode::kOk)
    return submit_grpc_end(stream, stream.grpc_response.status);
  stream.output.swap(stream.grpc_response.message);
  if (stream.request_gzip) {
    guard_.forgive(stream.expanded_bytes);
    pack_output(stream);
  }
  const auto length = static_cast<std::uint32_t>(stream.output.size());
  insert_prefix(stream.output);
  write_grpc_prefix(stream.output.data(), {stream.answer_gzip, length});
  count_output(stream, stream.output.size());
  stream.ended = true;
  stream.status_number = status_number(GrpcCode::kOk);
  submit_grpc_head(stream);
}

// A client that compresses its requests and accepts compressed answers gets them.
void Http2Session::pack_output(Http2Stream& stream) {
  if (!list_contains(stream.header(stream.grpc_accept_encoding), "gzip")) return;
  unpacked_.clear();
  context_.gzip.pack(stream.output, unpacked_);
  stream.output.swap(unpacked_);
  stream.answer_gzip = true;
}

void Http2Session::open_streaming(Http2Stream& stream) {
  if (context_.deferred.full())
    return fail_grpc(stream, GrpcCode::kUnavailable, "too many requests are waiting for an answer");
  if (!has_room_for_answer())
    return fail_grpc(stream, GrpcCode::kResourceExhausted, "too many answers on this connection are unread");
  GrpcContext context;
  if (!make_grpc_context(stream, context)) return;
  stream.kind = Http2Stream::Kind::kStreaming;
  has_served_ = true;
  stream.handler = context_.application.open_stream(context, stream);
  if (stream.ended) return;
  if (!stream.handler) return fail_grpc(stream, GrpcCode::kInternal, "the call could not be started");
  if (stream.deadline_us != 0) {
    Waiter<GrpcResponse>& waiter = stream;
    stream.deferred = context_.deferred.open(waiter, stream.deadline_us);
  }
}

void Http2Session::send_message(Http2Stream& stream, std::string_view message) {
  const bool connection_lags = pending_output_bytes_ > kConnectionOutputBytesMax;
  if (stream.unsent_bytes() > (connection_lags ? 0 : kStreamOutputBytesMax))
    return fail_grpc(stream, GrpcCode::kResourceExhausted, "the client reads too slowly");
  std::array<char, kGrpcPrefixBytes> prefix;
  write_grpc_prefix(prefix.data(), {false, static_cast<std::uint32_t>(message.size())});
  if (stream.output_sent == stream.output.size()) stream.progress_us = context_.now_us;
  if (stream.output_sent > stream.output.size() / 2) {  // a reader that never quite catches up
    stream.output.erase(0, stream.output_sent);
    stream.output_sent = 0;
  }
  stream.output.append(prefix.data(), prefix.size());
  stream.output.append(message);
  count_output(stream, prefix.size() + message.size());
  if (!stream.answered) return submit_grpc_head(stream);
  if (stream.waiting_for_output) wake_output(stream);
}

void Http2Session::wake_output(Http2Stream& stream) {
  stream.waiting_for_output = false;
  nghttp2_session_resume_data(session_, stream.id);
}

void Http2Session::submit_grpc_head(Http2Stream& stream) {
  const std::array<nghttp2_nv, 3> headers = {header_in_place(":status", "200"),
                                             header_in_place("content-type", "application/grpc"),
                                             header_in_place("grpc-encoding", "gzip")};
  const nghttp2_data_provider body = Http2Callbacks::body_of(&stream);
  nghttp2_submit_response(session_, stream.id, headers.data(), stream.answer_gzip ? 3 : 2, &body);
  submitted(stream);
}

void Http2Session::fail_grpc(Http2Stream& stream, GrpcCode code, std::string_view message) {
  submit_grpc_end(stream, GrpcStatus{code, std::string(message), {}});
}

// Ends the call: with trailers after what has been sent, or with a trailers-only response.
void Http2Session::submit_grpc_end(Http2Stream& stream, const GrpcStatus& status) {
  assert(!stream.ended);
  stream.ended = true;
  if (stream.deferred) context_.deferred.close(stream.deferred);
  stream.deferred = nullptr;
  if (!stream.handler) drop_body(stream);
  stream.status_number = status_number(status.code);
  stream.status_message.clear();
  stream.status_details.clear();
  append_percent_encoded(stream.status_message, status.message);
  append_base64(stream.status_details, status.details_bin);
  if (stream.answered) {
    if (stream.waiting_for_output) wake_output(stream);
    return;
  }
  std::array<nghttp2_nv, 6> headers;
  std::size_t count = 0;
  headers[count++] = header_in_place(":status", "200");
  headers[count++] = header_in_place("content-type", "application/grpc");
  if (status.code == GrpcCode::kUnimplemented)
    headers[count++] = header_in_place("grpc-accept-encoding", kAcceptedEncodings);
  count += add_trailers(stream, std::span(headers).subspan(count));
  nghttp2_submit_response(session_, stream.id, headers.data(), count, nullptr);
  submitted(stream);
}

void Http2Session::submit_trailers(Http2Stream& stream) {
  std::array<nghttp2_nv, 3> headers;
  const std::size_t count = add_trailers(stream, headers);
  nghttp2_submit_trailer(session_, stream.id, headers.data(), count);
}

}  // namespace sluice::net

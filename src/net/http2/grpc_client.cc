#include "net/http2/grpc_client.h"

#include <nghttp2/nghttp2.h>

#include <algorithm>
#include <array>
#include <cassert>
#include <charconv>
#include <cstring>
#include <new>

#include "net/grpc/grpc_text.h"
#include "net/http2/http2_callbacks.h"

namespace sluice::net {
namespace {

constexpr std::int32_t kClientWindowBytes = 1 << 24;  // so large that window updates are rare

std::string_view text_at(const std::uint8_t* bytes, std::size_t size) {
  return {reinterpret_cast<const char*>(bytes), size};
}

int number_in(std::string_view text) {
  int number = -1;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

}  // namespace

std::optional<std::string_view> GrpcResult::message() const {
  if (body.size() < kGrpcPrefixBytes) return std::nullopt;
  const auto prefix = read_grpc_prefix(body);
  if (!prefix || prefix->compressed || body.size() != kGrpcPrefixBytes + prefix->length) return std::nullopt;
  return std::string_view(body).substr(kGrpcPrefixBytes);
}

std::string GrpcResult::problem() const {
  if (http2_error != 0)
    return "the server reset a stream: " + std::string(nghttp2_http2_strerror(http2_error));
  if (http_status != 200) return "HTTP status " + std::to_string(http_status);
  return "gRPC status " + std::to_string(grpc_status) + ": " + grpc_message;
}

struct GrpcClient::Callbacks {
  static Call* call_of(nghttp2_session* session, std::int32_t stream) {
    return static_cast<Call*>(nghttp2_session_get_stream_user_data(session, stream));
  }

  static ssize_t on_body_wanted(nghttp2_session*, std::int32_t, std::uint8_t* buffer, std::size_t room,
                                std::uint32_t* flags, nghttp2_data_source* source, void*) {
    Call& call = *static_cast<Call*>(source->ptr);
    const std::size_t n = call.request.copy(reinterpret_cast<char*>(buffer), room, call.sent);
    call.sent += n;
    if (call.sent == call.request.size()) *flags |= NGHTTP2_DATA_FLAG_EOF;
    return static_cast<ssize_t>(n);
  }

  static int on_header(nghttp2_session* session, const nghttp2_frame* frame, const std::uint8_t* name,
                       std::size_t name_size, const std::uint8_t* value, std::size_t value_size, std::uint8_t,
                       void*) {
    const std::string_view text = text_at(name, name_size);
    const bool is_status = text == "grpc-status", is_http = text == ":status";
    if (!is_status && !is_http && text != "grpc-message") return 0;
    Call* call = call_of(session, frame->hd.stream_id);
    if (call == nullptr) return 0;
    const std::string_view given = text_at(value, value_size);
    if (is_status)
      call->result.grpc_status = number_in(given);
    else if (is_http)
      call->result.http_status = number_in(given);
    else
      call->result.grpc_message = given;
    return 0;
  }

  static int on_data(nghttp2_session* session, std::uint8_t, std::int32_t stream, const std::uint8_t* data,
                     std::size_t size, void*) {
    Call* call = call_of(session, stream);
    if (call == nullptr) return 0;
    std::string& body = call->result.body;
    body.append(text_at(data, std::min(size, kAnswerBytesMax - body.size())));
    return 0;
  }

  static int on_frame(nghttp2_session*, const nghttp2_frame* frame, void* user) {
    if (frame->hd.type == NGHTTP2_SETTINGS) static_cast<GrpcClient*>(user)->is_greeted_ = true;
    return 0;
  }

  static int on_stream_close(nghttp2_session* session, std::int32_t stream, std::uint32_t error, void* user) {
    if (Call* call = call_of(session, stream)) static_cast<GrpcClient*>(user)->finish(*call, error);
    return 0;
  }
};

GrpcClient::GrpcClient(const GrpcTarget& target) : target_(target) {
  nghttp2_session_callbacks* callbacks = nullptr;
  nghttp2_option* option = nullptr;
  if (nghttp2_session_callbacks_new(&callbacks) != 0 || nghttp2_option_new(&option) != 0)
    throw std::bad_alloc();
  nghttp2_session_callbacks_set_on_header_callback(callbacks, Callbacks::on_header);
  nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, Callbacks::on_data);
  nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, Callbacks::on_frame);
  nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, Callbacks::on_stream_close);
  nghttp2_option_set_peer_max_concurrent_streams(option, 1u << 30);  // until the server says otherwise
  const int made = nghttp2_session_client_new2(&session_, callbacks, this, option);
  nghttp2_session_callbacks_del(callbacks);
  nghttp2_option_del(option);
  if (made != 0) throw std::bad_alloc();
  const nghttp2_settings_entry settings[] = {{NGHTTP2_SETTINGS_ENABLE_PUSH, 0}};
  nghttp2_submit_settings(session_, NGHTTP2_FLAG_NONE, settings, std::size(settings));
  nghttp2_session_set_local_window_size(session_, NGHTTP2_FLAG_NONE, 0, kClientWindowBytes);
}

GrpcClient::~GrpcClient() { nghttp2_session_del(session_); }

bool GrpcClient::start(std::uint64_t id, std::string_view path, std::string_view framed) {
  if (is_closing_) return false;
  if (free_.empty()) free_.push_back(calls_.emplace_back(std::make_unique<Call>()).get());
  Call& call = *free_.back();
  call.id = id;
  call.request = framed;
  call.sent = 0;
  call.result.http2_error = 0;
  call.result.http_status = 0;
  call.result.grpc_status = -1;
  call.result.grpc_message.clear();
  call.result.body.clear();
  std::array<nghttp2_nv, 8> headers = {
      header_in_place(":method", "POST"), header_in_place(":scheme", target_.tls ? "https" : "http"),
      header_in_place(":path", path),     header_in_place(":authority", target_.authority),
      header_in_place("te", "trailers"),  header_in_place("content-type", "application/grpc"),
  };
  std::size_t count = 6;
  if (!target_.timeout.empty()) headers[count++] = header_in_place("grpc-timeout", target_.timeout);
  if (!target_.authorization.empty())
    headers[count++] = header_in_place("authorization", target_.authorization);
  nghttp2_data_provider body{};
  body.source.ptr = &call;
  body.read_callback = Callbacks::on_body_wanted;
  last_stream_ = nghttp2_submit_request(session_, nullptr, headers.data(), count, &body, &call);
  if (last_stream_ < 0) {
    is_closing_ = true;  // the connection has used up its stream ids
    return false;
  }
  call.is_running = true;
  call.is_cancelled = false;
  ++running_;
  free_.pop_back();
  return true;
}

void GrpcClient::cancel(std::int32_t stream) {
  Call* const call = Callbacks::call_of(session_, stream);
  if (call == nullptr || call->is_cancelled) return;
  call->is_cancelled = true;
  nghttp2_submit_rst_stream(session_, NGHTTP2_FLAG_NONE, stream, NGHTTP2_CANCEL);
}

void GrpcClient::write(std::string& out) {
  while (true) {
    const std::uint8_t* bytes = nullptr;
    const ssize_t n = nghttp2_session_mem_send(session_, &bytes);
    if (n <= 0) return;  // an error here also shows in the next read()
    out.append(text_at(bytes, static_cast<std::size_t>(n)));
  }
}

std::expected<void, std::string> GrpcClient::read(std::string_view bytes) {
  const ssize_t n =
      nghttp2_session_mem_recv(session_, reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
  if (n < 0)
    return std::unexpected(
        "the server does not speak HTTP/2: " + std::string(nghttp2_strerror(static_cast<int>(n))) + ".");
  // After GOAWAY from either side; ours means that the server violated HTTP/2.
  if (nghttp2_session_check_request_allowed(session_) == 0) is_closing_ = true;
  return {};
}

void GrpcClient::finish(Call& call, std::uint32_t http2_error) {
  assert(call.is_running);
  call.is_running = false;
  --running_;
  if (call.is_cancelled) return recycle(call);
  call.result.http2_error = http2_error;
  finished_.push_back(&call);
}

}  // namespace sluice::net

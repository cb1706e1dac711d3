#include "constant_session.h"

#include <array>
#include <cstring>
#include <stdexcept>
#include <string_view>

namespace bench {
namespace {

// The prefix of a gRPC message of 32 bytes, and a CheckResponse: allowed, remaining, reset_unix_ms,
// policy_version, limit, current, reason.
constexpr std::string_view kMessage(
    "\0\0\0\0\x20\x08\x01\x10\xa0\x8d\x06\x18\xc0\xf4\xa5\xe4\xb6\x31\x2a\x07"
    "bench#1\x38\xa0\x8d\x06\x40\x01\x5a\x02ok",
    37);

std::uint8_t* bytes_of(std::string_view text) {
  return reinterpret_cast<std::uint8_t*>(const_cast<char*>(text.data()));  // nghttp2 only reads them
}

nghttp2_nv field(std::string_view name, std::string_view value) {
  return {bytes_of(name), bytes_of(value), name.size(), value.size(),
          NGHTTP2_NV_FLAG_NO_COPY_NAME | NGHTTP2_NV_FLAG_NO_COPY_VALUE};
}

ssize_t read_message(nghttp2_session* session, std::int32_t stream, std::uint8_t* to, std::size_t,
                     std::uint32_t* flags, nghttp2_data_source*, void*) {
  std::memcpy(to, kMessage.data(), kMessage.size());
  *flags = NGHTTP2_DATA_FLAG_EOF | NGHTTP2_DATA_FLAG_NO_END_STREAM;
  const nghttp2_nv trailer = field("grpc-status", "0");
  nghttp2_submit_trailer(session, stream, &trailer, 1);
  return static_cast<ssize_t>(kMessage.size());
}

}  // namespace

ConstantSession::ConstantSession() {
  nghttp2_session_callbacks* callbacks = nullptr;
  nghttp2_session_callbacks_new(&callbacks);
  nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, on_frame);
  const int failed = nghttp2_session_server_new(&session_, callbacks, this);
  nghttp2_session_callbacks_del(callbacks);
  if (failed) throw std::runtime_error(nghttp2_strerror(failed));
  nghttp2_submit_settings(session_, NGHTTP2_FLAG_NONE, nullptr, 0);
}

int ConstantSession::on_frame(nghttp2_session* session, const nghttp2_frame* frame, void*) {
  const bool carries = frame->hd.type == NGHTTP2_DATA || frame->hd.type == NGHTTP2_HEADERS;
  if (!carries || !(frame->hd.flags & NGHTTP2_FLAG_END_STREAM)) return 0;
  const std::array head = {field(":status", "200"), field("content-type", "application/grpc")};
  const nghttp2_data_provider body = {.source = {}, .read_callback = read_message};
  return nghttp2_submit_response(session, frame->hd.stream_id, head.data(), head.size(), &body);
}

bool ConstantSession::receive(std::span<const unsigned char> bytes, std::string& out) {
  if (nghttp2_session_mem_recv(session_, bytes.data(), bytes.size()) < 0) return false;
  const std::uint8_t* data = nullptr;
  ssize_t size = 0;
  while ((size = nghttp2_session_mem_send(session_, &data)) > 0)
    out.append(reinterpret_cast<const char*>(data), static_cast<std::size_t>(size));
  return size == 0 && (nghttp2_session_want_read(session_) || !out.empty());
}

}  // namespace bench

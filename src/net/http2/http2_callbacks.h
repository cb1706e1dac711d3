#pragma once

#include <nghttp2/nghttp2.h>

#include <string_view>

#include "net/socket/block_pool.h"

namespace sluice::net {

// The nghttp2 callbacks, and the setup of sessions. Only for http2_*.cc.
struct Http2Callbacks {
  // A server session that reports to `owner`, an Http2Session, and allocates from `blocks`.
  static nghttp2_session* new_session(void* owner, BlockPool& blocks);
  // The source of a stream's answer body. `stream` is an Http2Stream.
  static nghttp2_data_provider body_of(void* stream);

  static int on_begin_frame(nghttp2_session*, const nghttp2_frame_hd* frame, void* owner);
  static int on_unknown_frame(nghttp2_session*, void** payload, const nghttp2_frame_hd* frame, void* owner);
  static int on_begin_headers(nghttp2_session*, const nghttp2_frame* frame, void* owner);
  static int on_header(nghttp2_session*, const nghttp2_frame* frame, const std::uint8_t* name,
                       std::size_t name_bytes, const std::uint8_t* value, std::size_t value_bytes,
                       std::uint8_t flags, void* owner);
  static int on_frame_recv(nghttp2_session*, const nghttp2_frame* frame, void* owner);
  static int on_data_chunk(nghttp2_session*, std::uint8_t flags, std::int32_t stream_id,
                           const std::uint8_t* data, std::size_t bytes, void* owner);
  static int on_frame_send(nghttp2_session*, const nghttp2_frame* frame, void* owner);
  static int on_stream_close(nghttp2_session*, std::int32_t stream_id, std::uint32_t error_code, void* owner);
  static ssize_t read_body(nghttp2_session*, std::int32_t stream_id, std::uint8_t* buffer, std::size_t bytes,
                           std::uint32_t* flags, nghttp2_data_source* source, void* owner);
  static int send_body(nghttp2_session*, nghttp2_frame* frame, const std::uint8_t* frame_head,
                       std::size_t bytes, nghttp2_data_source* source, void* owner);
};

// A header whose text does not move until the frame has been written.
inline nghttp2_nv header_in_place(std::string_view name, std::string_view value) {
  const auto bytes = [](std::string_view text) {
    return const_cast<std::uint8_t*>(reinterpret_cast<const std::uint8_t*>(text.data()));
  };
  return {bytes(name), bytes(value), name.size(), value.size(),
          NGHTTP2_NV_FLAG_NO_COPY_NAME | NGHTTP2_NV_FLAG_NO_COPY_VALUE};
}

}  // namespace sluice::net

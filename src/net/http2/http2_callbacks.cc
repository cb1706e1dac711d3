#include "net/http2/http2_callbacks.h"

#include <algorithm>
#include <memory>
#include <new>

#include "base/limits.h"
#include "net/http2/http2_session.h"

namespace sluice::net {
namespace {

Http2Session& session_of(void* owner) { return *static_cast<Http2Session*>(owner); }

BlockPool& pool_of(void* blocks) { return *static_cast<BlockPool*>(blocks); }

nghttp2_mem memory_from(BlockPool& blocks) {
  return {&blocks, [](std::size_t bytes, void* pool) { return pool_of(pool).allocate(bytes); },
          [](void* block, void* pool) { pool_of(pool).release(block); },
          [](std::size_t count, std::size_t bytes, void* pool) {
            return pool_of(pool).allocate_zeroed(count, bytes);
          },
          [](void* block, std::size_t bytes, void* pool) { return pool_of(pool).resize(block, bytes); }};
}

// Settings shared by all sessions, made once.
class Http2Setup {
 public:
  static const Http2Setup& instance() {
    static const Http2Setup setup;
    return setup;
  }

  nghttp2_session* new_session(void* owner, BlockPool& blocks) const {
    nghttp2_session* session = nullptr;
    nghttp2_mem memory = memory_from(blocks);
    if (nghttp2_session_server_new3(&session, callbacks_.get(), owner, options_.get(), &memory) != 0)
      throw std::bad_alloc();
    const nghttp2_settings_entry settings[] = {
        {NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, kConcurrentStreamsMax},
        {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, kStreamWindowBytes},
        {NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, kHeaderBytesMax},
        {NGHTTP2_SETTINGS_NO_RFC7540_PRIORITIES, 1},  // no priority tree to maintain
    };
    nghttp2_submit_settings(session, NGHTTP2_FLAG_NONE, settings, std::size(settings));
    nghttp2_session_set_local_window_size(session, NGHTTP2_FLAG_NONE, 0, kConnectionWindowBytes);
    return session;
  }

 private:
  Http2Setup() {
    nghttp2_session_callbacks* callbacks = nullptr;
    nghttp2_option* options = nullptr;
    if (nghttp2_session_callbacks_new(&callbacks) != 0) throw std::bad_alloc();
    callbacks_.reset(callbacks);
    if (nghttp2_option_new(&options) != 0) throw std::bad_alloc();
    options_.reset(options);
    nghttp2_session_callbacks_set_on_begin_frame_callback(callbacks, Http2Callbacks::on_begin_frame);
    nghttp2_session_callbacks_set_on_begin_headers_callback(callbacks, Http2Callbacks::on_begin_headers);
    nghttp2_session_callbacks_set_on_header_callback(callbacks, Http2Callbacks::on_header);
    nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, Http2Callbacks::on_frame_recv);
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, Http2Callbacks::on_data_chunk);
    nghttp2_session_callbacks_set_on_frame_send_callback(callbacks, Http2Callbacks::on_frame_send);
    nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, Http2Callbacks::on_stream_close);
    nghttp2_session_callbacks_set_send_data_callback(callbacks, Http2Callbacks::send_body);
    nghttp2_session_callbacks_set_unpack_extension_callback(callbacks, Http2Callbacks::on_unknown_frame);
    // nghttp2 silently drops frames of unknown types unless they are registered; we count them.
    for (unsigned type = 0x0a; type <= 0xff; ++type)
      nghttp2_option_set_user_recv_extension_type(options, static_cast<std::uint8_t>(type));
    nghttp2_option_set_no_closed_streams(options, 1);
    nghttp2_option_set_max_continuations(options, kHeaderContinuationsMax);
    // Http2Guard counts resets itself, including those that the peer provokes.
    nghttp2_option_set_stream_reset_rate_limit(options, 1u << 30, 1u << 30);
  }

  struct Delete {
    void operator()(nghttp2_session_callbacks* callbacks) const { nghttp2_session_callbacks_del(callbacks); }
    void operator()(nghttp2_option* options) const { nghttp2_option_del(options); }
  };
  std::unique_ptr<nghttp2_session_callbacks, Delete> callbacks_;
  std::unique_ptr<nghttp2_option, Delete> options_;
};

// nghttp2 is written in C, and no exception may pass through it. An exception ends the session instead.
template <class Action>
auto carefully(const Action& action) -> decltype(action()) {
  try {
    return action();
  } catch (const std::bad_alloc&) {
    return NGHTTP2_ERR_CALLBACK_FAILURE;
  }
}

}  // namespace

nghttp2_session* Http2Callbacks::new_session(void* owner, BlockPool& blocks) {
  return Http2Setup::instance().new_session(owner, blocks);
}

nghttp2_data_provider Http2Callbacks::body_of(void* stream) {
  nghttp2_data_provider provider{};
  provider.source.ptr = stream;
  provider.read_callback = read_body;
  return provider;
}

int Http2Callbacks::on_begin_frame(nghttp2_session*, const nghttp2_frame_hd* frame, void* owner) {
  const bool carries_request =
      frame->type == NGHTTP2_HEADERS ||
      (frame->type == NGHTTP2_DATA && (frame->length != 0 || (frame->flags & NGHTTP2_FLAG_END_STREAM)));
  if (carries_request) return 0;
  Http2Session& session = session_of(owner);
  session.guard_.count_control_frame(session.context_.now_us);
  if (session.guard_.exceeded()) session.calm_down();
  return 0;
}

// on_begin_frame() has counted it; nothing else is needed.
int Http2Callbacks::on_unknown_frame(nghttp2_session*, void**, const nghttp2_frame_hd*, void*) {
  return NGHTTP2_ERR_CANCEL;
}

int Http2Callbacks::on_begin_headers(nghttp2_session*, const nghttp2_frame* frame, void* owner) {
  return carefully([&] {
    Http2Session& session = session_of(owner);
    session.block_bytes_ = 0;
    // Trailers of a request hold nothing that anybody asks for.
    session.in_headers_ =
        frame->headers.cat == NGHTTP2_HCAT_REQUEST ? session.open_stream(frame->hd.stream_id) : nullptr;
    return 0;
  });
}

int Http2Callbacks::on_header(nghttp2_session*, const nghttp2_frame* frame, const std::uint8_t* name,
                              std::size_t name_bytes, const std::uint8_t* value, std::size_t value_bytes,
                              std::uint8_t, void* owner) {
  return carefully([&] {
    Http2Session& session = session_of(owner);
    session.block_bytes_ += name_bytes + value_bytes + Http2Session::kHeaderOverheadBytes;
    // A byte of a block may refer to kilobytes of an earlier one. After this, nghttp2 decodes the rest
    // without looking at values.
    if (session.block_bytes_ > kHeaderBytesReadMax) [[unlikely]]
      return session.give_up_headers(frame->hd.stream_id), int{NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE};
    if (session.in_headers_)
      session.add_header(*session.in_headers_, {reinterpret_cast<const char*>(name), name_bytes},
                         {reinterpret_cast<const char*>(value), value_bytes});
    return 0;
  });
}

int Http2Callbacks::on_frame_recv(nghttp2_session*, const nghttp2_frame* frame, void* owner) {
  return carefully([&] {
    if (frame->hd.type != NGHTTP2_HEADERS && frame->hd.type != NGHTTP2_DATA) return 0;
    Http2Session& session = session_of(owner);
    Http2Stream* stream = session.find_stream(frame->hd.stream_id);
    if (!stream) return 0;
    if (frame->hd.type == NGHTTP2_HEADERS && frame->headers.cat == NGHTTP2_HCAT_REQUEST)
      session.begin_request(*stream);
    if (frame->hd.flags & NGHTTP2_FLAG_END_STREAM) session.end_request(*stream);
    return 0;
  });
}

int Http2Callbacks::on_data_chunk(nghttp2_session*, std::uint8_t, std::int32_t stream_id,
                                  const std::uint8_t* data, std::size_t bytes, void* owner) {
  return carefully([&] {
    Http2Session& session = session_of(owner);
    if (Http2Stream* stream = session.find_stream(stream_id))
      session.add_data(*stream, {reinterpret_cast<const char*>(data), bytes});
    return 0;
  });
}

int Http2Callbacks::on_frame_send(nghttp2_session*, const nghttp2_frame* frame, void* owner) {
  if (frame->hd.type > NGHTTP2_HEADERS || !(frame->hd.flags & NGHTTP2_FLAG_END_STREAM)) return 0;
  Http2Session& session = session_of(owner);
  if (Http2Stream* stream = session.find_stream(frame->hd.stream_id)) session.answer_sent(*stream);
  return 0;
}

int Http2Callbacks::on_stream_close(nghttp2_session*, std::int32_t stream_id, std::uint32_t error_code,
                                    void* owner) {
  Http2Session& session = session_of(owner);
  if (Http2Stream* stream = session.find_stream(stream_id)) session.close_stream(*stream, error_code);
  return 0;
}

ssize_t Http2Callbacks::read_body(nghttp2_session*, std::int32_t, std::uint8_t*, std::size_t bytes,
                                  std::uint32_t* flags, nghttp2_data_source* source, void* owner) {
  return carefully([&]() -> ssize_t {
    Http2Stream& stream = *static_cast<Http2Stream*>(source->ptr);
    session_of(owner).recent_ = &stream;  // the next callbacks need it
    if (stream.unsent_bytes() == 0 && !stream.ended && stream.handler) stream.handler->on_room();
    const std::size_t left = stream.unsent_bytes();
    if (left == 0 && !stream.ended) {
      stream.waiting_for_output = true;
      return NGHTTP2_ERR_DEFERRED;
    }
    const std::size_t taken = std::min(left, bytes);
    *flags |= NGHTTP2_DATA_FLAG_NO_COPY;  // send_body() fetches it
    if (taken == left && stream.ended) {
      *flags |= NGHTTP2_DATA_FLAG_EOF;
      if (stream.kind != Http2Stream::Kind::kHttp) {
        *flags |= NGHTTP2_DATA_FLAG_NO_END_STREAM;
        session_of(owner).submit_trailers(stream);
      }
    }
    return static_cast<ssize_t>(taken);
  });
}

int Http2Callbacks::send_body(nghttp2_session*, nghttp2_frame*, const std::uint8_t* frame_head,
                              std::size_t bytes, nghttp2_data_source* source, void* owner) {
  return carefully([&] {
    constexpr std::size_t kFrameHeadBytes = 9;
    Http2Session& session = session_of(owner);
    Http2Stream& stream = *static_cast<Http2Stream*>(source->ptr);
    session.out_->append(reinterpret_cast<const char*>(frame_head), kFrameHeadBytes);
    session.out_->append(stream.output, stream.output_sent, bytes);
    stream.output_sent += bytes;
    session.count_sent(bytes);
    session.guard_.count_sent(bytes, session.context_.now_us);
    stream.progress_us = session.context_.now_us;
    if (stream.output_sent == stream.output.size()) {
      // A call that lasts does not keep the memory of its largest message.
      if (stream.output.capacity() > kHeaderBytesMax) [[unlikely]] {
        std::string().swap(stream.output);
        session.settle_output(stream);
      }
      stream.output.clear();
      stream.output_sent = 0;
    }
    return 0;
  });
}

}  // namespace sluice::net

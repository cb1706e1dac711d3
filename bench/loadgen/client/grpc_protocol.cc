#include "loadgen/client/grpc_protocol.h"

#include <nghttp2/nghttp2.h>

#include <algorithm>
#include <cassert>
#include <charconv>
#include <cstring>
#include <new>

namespace sluice::loadgen {
namespace {

constexpr std::int32_t kConnectionWindowBytes = 1 << 24;  // so large that window updates are rare

nghttp2_nv header(std::string_view name, std::string_view value) {
  const auto bytes = [](std::string_view text) {
    return const_cast<std::uint8_t*>(reinterpret_cast<const std::uint8_t*>(text.data()));
  };
  constexpr std::uint8_t kFlags = NGHTTP2_NV_FLAG_NO_COPY_NAME | NGHTTP2_NV_FLAG_NO_COPY_VALUE;
  return {bytes(name), bytes(value), name.size(), value.size(), kFlags};
}

std::string_view view(const std::uint8_t* bytes, std::size_t size) {
  return {reinterpret_cast<const char*>(bytes), size};
}

int to_int(std::string_view text) {
  int number = -1;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

}  // namespace

struct GrpcProtocol::Callbacks {
  static Slot* slot_of(nghttp2_session* session, std::int32_t stream) {
    return static_cast<Slot*>(nghttp2_session_get_stream_user_data(session, stream));
  }

  static ssize_t on_body_wanted(nghttp2_session*, std::int32_t, std::uint8_t* buffer, std::size_t room,
                                std::uint32_t* flags, nghttp2_data_source* source, void*) {
    Slot& slot = *static_cast<Slot*>(source->ptr);
    const std::size_t n = std::min(room, slot.request.size() - slot.sent);
    std::memcpy(buffer, slot.request.data() + slot.sent, n);
    slot.sent += n;
    if (slot.sent == slot.request.size()) *flags |= NGHTTP2_DATA_FLAG_EOF;
    return static_cast<ssize_t>(n);
  }

  static int on_header(nghttp2_session* session, const nghttp2_frame* frame, const std::uint8_t* name,
                       std::size_t name_size, const std::uint8_t* value, std::size_t value_size, std::uint8_t,
                       void*) {
    const std::string_view text = view(name, name_size);
    const bool interesting = text == "grpc-status" || text == ":status" || text == "grpc-message";
    if (!interesting) return 0;
    Slot* slot = slot_of(session, frame->hd.stream_id);
    if (slot == nullptr) return 0;
    if (text == "grpc-status") slot->grpc_status = to_int(view(value, value_size));
    if (text == ":status") slot->http_status = to_int(view(value, value_size));
    if (text == "grpc-message") slot->grpc_message = view(value, value_size);
    return 0;
  }

  static int on_data(nghttp2_session* session, std::uint8_t, std::int32_t stream, const std::uint8_t* data,
                     std::size_t size, void*) {
    Slot* slot = slot_of(session, stream);
    if (slot == nullptr || slot->answer_bytes == slot->answer.size()) return 0;
    const std::size_t n = std::min(size, slot->answer.size() - slot->answer_bytes);
    std::memcpy(slot->answer.data() + slot->answer_bytes, data, n);
    slot->answer_bytes += n;
    return 0;
  }

  static int on_stream_close(nghttp2_session* session, std::int32_t stream, std::uint32_t error, void* user) {
    if (Slot* slot = slot_of(session, stream)) static_cast<GrpcProtocol*>(user)->finish(*slot, error);
    return 0;
  }
};

GrpcProtocol::GrpcProtocol(const GrpcTarget& target, const Payload& payload, std::size_t streams)
    : target_(target), payload_(payload), slots_(streams) {
  for (Slot& slot : slots_) free_.push_back(&slot);
  nghttp2_session_callbacks* callbacks = nullptr;
  nghttp2_option* option = nullptr;
  if (nghttp2_session_callbacks_new(&callbacks) != 0 || nghttp2_option_new(&option) != 0)
    throw std::bad_alloc();
  nghttp2_session_callbacks_set_on_header_callback(callbacks, Callbacks::on_header);
  nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, Callbacks::on_data);
  nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, Callbacks::on_stream_close);
  nghttp2_option_set_peer_max_concurrent_streams(option, 1u << 30);  // until the server says otherwise
  const int made = nghttp2_session_client_new2(&session_, callbacks, this, option);
  nghttp2_session_callbacks_del(callbacks);
  nghttp2_option_del(option);
  if (made != 0) throw std::bad_alloc();
  const nghttp2_settings_entry settings[] = {{NGHTTP2_SETTINGS_ENABLE_PUSH, 0}};
  nghttp2_submit_settings(session_, NGHTTP2_FLAG_NONE, settings, std::size(settings));
  nghttp2_session_set_local_window_size(session_, NGHTTP2_FLAG_NONE, 0, kConnectionWindowBytes);
}

GrpcProtocol::~GrpcProtocol() { nghttp2_session_del(session_); }

bool GrpcProtocol::start(const Call& call) {
  if (free_.empty() || closing_) return false;
  Slot& slot = *free_.back();
  slot.intended_us = call.intended_us;
  slot.sent = 0;
  slot.answer_bytes = 0;
  slot.http_status = 0;
  slot.grpc_status = -1;
  slot.grpc_message.clear();
  payload_.render(call.key, slot.request);
  const std::array headers = {header(":method", "POST"),     header(":scheme", "http"),
                              header(":path", target_.path), header(":authority", target_.authority),
                              header("te", "trailers"),      header("content-type", "application/grpc")};
  nghttp2_data_provider body{};
  body.source.ptr = &slot;
  body.read_callback = Callbacks::on_body_wanted;
  if (nghttp2_submit_request(session_, nullptr, headers.data(), headers.size(), &body, &slot) < 0) {
    closing_ = true;  // the connection has used up its stream ids
    return false;
  }
  slot.busy = true;
  free_.pop_back();
  return true;
}

void GrpcProtocol::write(std::string& out) {
  while (true) {
    const std::uint8_t* bytes = nullptr;
    const ssize_t n = nghttp2_session_mem_send(session_, &bytes);
    if (n <= 0) return;  // an error here also shows in the next read()
    out.append(reinterpret_cast<const char*>(bytes), static_cast<std::size_t>(n));
  }
}

std::expected<void, std::string> GrpcProtocol::read(std::string_view bytes,
                                                    std::vector<FinishedCall>& finished) {
  finished_ = &finished;
  const ssize_t n =
      nghttp2_session_mem_recv(session_, reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
  finished_ = nullptr;
  if (n < 0)
    return std::unexpected(
        "the server does not speak HTTP/2: " + std::string(nghttp2_strerror(static_cast<int>(n))) + ".");
  // After GOAWAY from either side; ours means that the server violated HTTP/2.
  if (nghttp2_session_check_request_allowed(session_) == 0) closing_ = true;
  return {};
}

void GrpcProtocol::pending(std::vector<std::int64_t>& intended_us) const {
  for (const Slot& slot : slots_)
    if (slot.busy) intended_us.push_back(slot.intended_us);
}

CallOutcome GrpcProtocol::outcome_of(const Slot& slot, std::uint32_t http2_error) {
  if (http2_error == NGHTTP2_NO_ERROR && slot.http_status == 200 && slot.grpc_status == 0) {
    const bool allowed = !target_.is_check || grpc_answer_allows({slot.answer.data(), slot.answer_bytes});
    return allowed ? CallOutcome::kAllowed : CallOutcome::kDenied;
  }
  if (first_failure_.empty()) {
    if (http2_error != NGHTTP2_NO_ERROR) {
      first_failure_ = "the server reset a stream: " + std::string(nghttp2_http2_strerror(http2_error));
    } else if (slot.http_status != 200) {
      first_failure_ = "HTTP status " + std::to_string(slot.http_status);
    } else {
      first_failure_ = "gRPC status " + std::to_string(slot.grpc_status) + ": " + slot.grpc_message;
    }
  }
  return CallOutcome::kFailed;
}

void GrpcProtocol::finish(Slot& slot, std::uint32_t http2_error) {
  // Not within read(): nghttp2 could not send a call after GOAWAY. The call stays pending and fails with its
  // connection.
  if (finished_ == nullptr) return;
  slot.busy = false;
  free_.push_back(&slot);
  finished_->push_back({slot.intended_us, outcome_of(slot, http2_error)});
}

}  // namespace sluice::loadgen

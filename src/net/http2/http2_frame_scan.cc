#include "net/http2/http2_frame_scan.h"

#include <nghttp2/nghttp2.h>

namespace sluice::net {
namespace {

// The remaining bit is reserved, or has another meaning.
constexpr std::uint32_t kStreamIdBits = 0x7fff'ffff;
constexpr std::size_t kPriorityBytes = 5;

std::uint32_t number_at(const char* bytes) {
  const auto byte = [bytes](int i) { return std::uint32_t{static_cast<unsigned char>(bytes[i])}; };
  return byte(0) << 24 | byte(1) << 16 | byte(2) << 8 | byte(3);
}

std::size_t length_in(const char* head) { return number_at(head) >> 8; }

bool is_priority(const char* head) {
  return head[3] == NGHTTP2_PRIORITY &&
         length_in(head) == kPriorityBytes;  // other lengths are reported by nghttp2
}

}  // namespace

Http2FrameScan::Error Http2FrameScan::scan(std::string_view bytes) {
  Error first = Error::kNone;
  while (bytes.size() > skipped_bytes_) {
    bytes.remove_prefix(skipped_bytes_);
    skipped_bytes_ = 0;
    Error error = Error::kNone;
    if (head_bytes_ == 0 && bytes.size() >= head_.size()) {  // nearly always
      error = take_head(bytes.data());
    } else {
      const std::size_t wanted = head_bytes_ < kHeadBytes ? kHeadBytes : head_.size();
      const std::size_t taken = bytes.copy(head_.data() + head_bytes_, wanted - head_bytes_);
      head_bytes_ += taken;
      bytes.remove_prefix(taken);
      const bool is_whole =
          head_bytes_ == head_.size() || (head_bytes_ == kHeadBytes && !is_priority(head_.data()));
      if (!is_whole) continue;
      error = take_head(head_.data());
      skipped_bytes_ -= head_bytes_;
      head_bytes_ = 0;
    }
    if (first == Error::kNone) first = error;
  }
  skipped_bytes_ -= bytes.size();
  return first;
}

Http2FrameScan::Error Http2FrameScan::take_head(const char* head) {
  skipped_bytes_ = kHeadBytes + length_in(head);
  const std::uint32_t stream_id = number_at(head + 5) & kStreamIdBits;
  switch (head[3]) {
    case NGHTTP2_DATA:
    case NGHTTP2_HEADERS:
      return take_request_frame(stream_id, head[3] == NGHTTP2_HEADERS, head[4] & NGHTTP2_FLAG_END_STREAM);
    case NGHTTP2_RST_STREAM:
      end(stream_id);
      return Error::kNone;
    case NGHTTP2_PRIORITY: {
      if (!is_priority(head)) return Error::kNone;
      const bool waits_for_itself = stream_id == (number_at(head + kHeadBytes) & kStreamIdBits);
      return stream_id == 0 || waits_for_itself ? Error::kProtocol : Error::kNone;
    }
    default:
      return Error::kNone;
  }
}

Http2FrameScan::Error Http2FrameScan::take_request_frame(std::uint32_t stream_id, bool is_headers,
                                                         bool ends) {
  if (is_headers && stream_id > last_opened_) {
    if (stream_id > last_opened_ + 2) {
      left_out_after_ = last_opened_;
      left_out_before_ = stream_id;
    }
    last_opened_ = stream_id;
  } else if (has_ended(stream_id)) {
    return Error::kStreamClosed;
  } else if (stream_id > left_out_after_ && stream_id < left_out_before_) {
    return Error::kProtocol;
  }
  if (ends) end(stream_id);
  return Error::kNone;
}

// Without an early exit, the compiler compares several at a time.
bool Http2FrameScan::has_ended(std::uint32_t stream_id) const {
  bool found = false;
  for (const std::uint32_t ended : ended_) found |= ended == stream_id;
  return found;
}

void Http2FrameScan::end(std::uint32_t stream_id) {
  ended_[next_ended_] = stream_id;
  next_ended_ = (next_ended_ + 1) % ended_.size();
}

}  // namespace sluice::net

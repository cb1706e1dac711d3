#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace sluice::net {

// Reads the headers of a peer's frames and detects errors that nghttp2 ignores. Not thread-safe.
//
// nghttp2 forgets a stream that has closed and ignores what still arrives on it. That is right after a reset
// of ours, which the peer may not have seen yet. But a peer that has ended a stream itself must not continue
// it. And without a priority tree, nghttp2 does not look into PRIORITY frames either. So this class also sees
// all bytes of a connection, from the preface on. It remembers only the streams that ended last; frames on
// older ones are ignored.
class Http2FrameScan {
 public:
  // The protocol's numbers.
  enum class Error : std::uint32_t { kNone = 0, kProtocol = 1, kStreamClosed = 5 };

  // The first error in frames whose headers end within `bytes`. Continues where the last call stopped.
  Error scan(std::string_view bytes);

 private:
  static constexpr std::size_t kPrefaceBytes = 24;
  static constexpr std::size_t kHeadBytes = 9;
  static constexpr std::size_t kDependencyBytes = 4;  // at the beginning of a PRIORITY frame

  // `head` is followed by the dependency if it is a PRIORITY frame. Sets skipped_bytes_ to the whole frame.
  Error take_head(const char* head);
  Error take_request_frame(std::uint32_t stream_id, bool is_headers, bool ends);
  bool has_ended(std::uint32_t stream_id) const;
  void end(std::uint32_t stream_id);

  std::array<char, kHeadBytes + kDependencyBytes> head_{};  // an incomplete one
  std::size_t head_bytes_ = 0;
  std::size_t skipped_bytes_ = kPrefaceBytes;

  std::array<std::uint32_t, 16> ended_{};  // by END_STREAM or a reset from the peer
  std::size_t next_ended_ = 0;
  std::uint32_t last_opened_ = 0;
  // Streams between these two were skipped, and cannot be opened later.
  std::uint32_t left_out_after_ = 0;
  std::uint32_t left_out_before_ = 0;
};

}  // namespace sluice::net

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace sluice::net {

// Reads the heads of a peer's frames and finds mistakes that nghttp2 reads over. Not thread-safe.
//
// nghttp2 forgets a stream that has closed and ignores what still comes on it. That is right after a reset of
// ours, which the peer may not have seen; but a peer that has ended a stream itself must not go on with it.
// Told to keep no tree of priorities, nghttp2 does not look into PRIORITY frames either. So the bytes of a
// connection come here, too, from the preface on. Only the streams that ended last are remembered: whoever
// goes on with an older one is ignored.
class Http2FrameScan {
 public:
  // The numbers are the protocol's.
  enum class Error : std::uint32_t { kNone = 0, kProtocol = 1, kStreamClosed = 5 };

  // The first mistake in frames whose heads end within `bytes`, with which the connection goes on.
  Error scan(std::string_view bytes);

 private:
  static constexpr std::size_t kPrefaceBytes = 24;
  static constexpr std::size_t kHeadBytes = 9;
  static constexpr std::size_t kDependencyBytes = 4;  // at the beginning of a PRIORITY frame

  // `head` is followed by the dependency, if it is a PRIORITY frame. Sets skipped_bytes_ to the whole frame.
  Error take_head(const char* head);
  Error take_request_frame(std::uint32_t stream_id, bool is_headers, bool ends);
  bool has_ended(std::uint32_t stream_id) const;
  void end(std::uint32_t stream_id);

  std::array<char, kHeadBytes + kDependencyBytes> head_{};  // one that was cut
  std::size_t head_bytes_ = 0;
  std::size_t skipped_bytes_ = kPrefaceBytes;

  std::array<std::uint32_t, 16> ended_{};  // by END_STREAM or a reset of the peer
  std::size_t next_ended_ = 0;
  std::uint32_t last_opened_ = 0;
  std::uint32_t left_out_after_ =
      0;  // streams between these two have been left out, and can't be opened later
  std::uint32_t left_out_before_ = 0;
};

}  // namespace sluice::net

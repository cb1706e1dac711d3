#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "base/limits.h"

namespace sluice::net {

// Counts actions of a peer that cost us more than they cost the peer, and says when it is too much. Not
// thread-safe.
//
// Some of it belongs to honest traffic (a cancelled call, a WINDOW_UPDATE per answer), so answered requests
// earn allowance: a tenth of a reset and four control frames each. Whoever reads a long stream says so all
// the time; so every kEarningBytes that were sent earn a control frame. Bytes, not frames: a window opened by
// one byte at a time earns nothing.
//
// A compressed message of a kilobyte may stand for a megabyte. What one grows beyond kUsualRatio times its
// size counts until the call is answered without an error; beyond a bound nothing is unpacked.
class Http2Guard {
 public:
  void count_answer(std::int64_t now_us) {
    advance(now_us);
    ++answers_;
  }
  void count_sent(std::size_t bytes, std::int64_t now_us) {
    advance(now_us);
    sent_bytes_ += bytes;
  }
  // A stream ended with an error: a reset from the peer, or one that it provoked.
  void count_reset(std::int64_t now_us) {
    advance(now_us);
    ++resets_;
  }
  bool may_unpack(std::int64_t now_us) {
    advance(now_us);
    return expanded_bytes_ <= kExpandedBytesPerSecondMax;
  }
  // Returns what is counted, for forgive().
  std::size_t count_unpacked(std::size_t packed_bytes, std::size_t bytes) {
    const std::size_t counted = bytes - std::min(bytes, kUsualRatio * packed_bytes);
    expanded_bytes_ += counted;
    return counted;
  }
  void forgive(std::size_t counted) { expanded_bytes_ -= std::min<std::uint64_t>(expanded_bytes_, counted); }
  void count_control_frame(std::int64_t now_us) {
    advance(now_us);
    ++control_frames_;
  }
  bool exceeded() const {
    return resets_ > kResetsPerSecondMax + answers_ / 10 ||
           control_frames_ > kControlFramesPerSecondMax + 4 * answers_ + sent_bytes_ / kEarningBytes;
  }

 private:
  static constexpr std::uint64_t kEarningBytes = 2048;
  static constexpr std::size_t kUsualRatio = 16;

  void advance(std::int64_t now_us) {
    if (now_us - second_began_us_ < 1'000'000) return;
    second_began_us_ = now_us;
    resets_ = control_frames_ = answers_ = sent_bytes_ = expanded_bytes_ = 0;
  }

  std::int64_t second_began_us_ = 0;
  std::uint64_t resets_ = 0;
  std::uint64_t control_frames_ = 0;
  std::uint64_t answers_ = 0;
  std::uint64_t sent_bytes_ = 0;
  std::uint64_t expanded_bytes_ = 0;
};

}  // namespace sluice::net

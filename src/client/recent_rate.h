#pragma once

#include <algorithm>
#include <cstdint>

#include "base/time_units.h"

namespace sluice {

// How fast a key spends, smoothed over about a second. Not thread-safe.
//
// A rate that grows is followed at once: asking for too little costs a call, asking for too much is spent a
// moment later.
class RecentRate {
 public:
  // `expected`: units per second, as far as known.
  explicit RecentRate(double expected = 0) : rate_(expected) {}

  // `units` were spent, or would have been, in the time since the last call.
  void observe(std::int64_t units, std::int64_t now_us) {
    if (last_us_ == 0) {
      last_us_ = now_us;
      return;
    }
    waiting_units_ += units;
    const std::int64_t elapsed_us = now_us - last_us_;
    if (elapsed_us < kLeastUs) return;  // too short to tell a rate
    const double rate = static_cast<double>(waiting_units_) * kSecondUs / static_cast<double>(elapsed_us);
    // A time constant of one second, however often it is called.
    const double weight = std::min(1.0, static_cast<double>(elapsed_us) / kSecondUs);
    rate_ = rate > rate_ ? rate : rate_ + weight * (rate - rate_);
    waiting_units_ = 0;
    last_us_ = now_us;
  }

  // What will be spent in the next `span_us`.
  double units_in(std::int64_t span_us) const { return rate_ * static_cast<double>(span_us) / kSecondUs; }

 private:
  static constexpr std::int64_t kLeastUs = 50'000;
  double rate_;  // units per second
  std::int64_t waiting_units_ = 0;
  std::int64_t last_us_ = 0;
};

}  // namespace sluice

#pragma once

#include <algorithm>
#include <cstdint>

#include "base/time_units.h"

namespace sluice {

// How many units to ask for: what the key spends until the next refresh. Not thread-safe.
//
//   size = max(1, floor(rate × refresh)), at most a ceiling that is halved by a denial and grows by one with
//   each lease that was granted in full
//
// The rate is that of the units spent here, smoothed over about a second. The ceiling works like TCP's
// congestion control: gateways that together want more than there is shrink by half and grow by one, until
// they have about equal parts.
class LeaseSize {
 public:
  static constexpr std::int64_t kMax = 65'535;

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
    // A time constant of one second, however often it is called. A rate that grows is followed at once:
    // asking for too little costs a call, asking for too much is spent a moment later.
    const double weight = std::min(1.0, static_cast<double>(elapsed_us) / kSecondUs);
    rate_ = rate > rate_ ? rate : rate_ + weight * (rate - rate_);
    waiting_units_ = 0;
    last_us_ = now_us;
  }

  // The units to ask for. `refresh_us`: until the next lease is asked for.
  std::int64_t want(std::int64_t refresh_us) const {
    const double units = rate_ * static_cast<double>(refresh_us) / kSecondUs;
    return std::clamp(static_cast<std::int64_t>(std::min(units, double{kMax})), std::int64_t{1}, ceiling_);
  }

  void on_granted() { ceiling_ = std::min(ceiling_ + 1, kMax); }
  void on_denied(std::int64_t wanted) { ceiling_ = std::max(wanted / 2, std::int64_t{1}); }

 private:
  static constexpr std::int64_t kLeastUs = 50'000;
  double rate_ = 0;  // units per second
  std::int64_t waiting_units_ = 0;
  std::int64_t last_us_ = 0;
  std::int64_t ceiling_ = kMax;
};

}  // namespace sluice

#pragma once

#include <cstdint>

#include "base/clock.h"

namespace sluice {

// Tells the time of another clock as the kernel noted it at its last tick: several times cheaper to read, for
// whoever asks millions of times a second. Thread-safe.
//
// It is at most kLagUs behind. So now_us() + kLagUs is the latest time that it can be.
class CoarseClock final : public Clock {
 public:
  static constexpr std::int64_t kLagUs = 20'000;  // two ticks of the slowest kernels

  // REQUIRES: `exact` follows the monotonic clock, as SystemClock does
  explicit CoarseClock(const Clock& exact);
  std::int64_t now_us() const override;

 private:
  const std::int64_t minus_monotonic_us_;
};

}  // namespace sluice

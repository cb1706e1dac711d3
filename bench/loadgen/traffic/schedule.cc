#include "loadgen/traffic/schedule.h"

#include <cassert>

#include "base/arith.h"
#include "loadgen/traffic/recording.h"

namespace sluice::loadgen {

Schedule::Schedule(std::int64_t rate_per_second, std::int64_t start_us, Share share)
    : rate_per_second_(rate_per_second), start_us_(start_us), share_(share) {
  assert(rate_per_second >= 0 && start_us >= 0 && share.thread < share.threads);
  next_us_ = open_loop() ? due_us(0) : start_us_;
}

Schedule::Schedule(const Recording& recording, double speed, std::int64_t start_us, Share share)
    : recording_(&recording), speed_(speed), start_us_(start_us), share_(share) {
  assert(speed > 0 && start_us >= 0 && share.thread < share.threads);
  next_us_ = due_us(0);
}

std::optional<std::int64_t> Schedule::take(std::int64_t now_us) {
  if (now_us < next_us_) return std::nullopt;
  if (!open_loop()) return now_us;
  const std::int64_t due = next_us_;
  next_us_ = due_us(++taken_);
  return due;
}

// Computed from the start each time, so that rounding to microseconds does not accumulate.
std::int64_t Schedule::due_us(std::int64_t n) const {
  const std::int64_t overall = n * share_.threads + share_.thread;
  if (recording_ != nullptr) {
    if (overall >= recording_->size()) return std::numeric_limits<std::int64_t>::max();
    const auto after_us = static_cast<double>(recording_->after_us(static_cast<std::uint32_t>(overall)));
    return start_us_ + static_cast<std::int64_t>(after_us / speed_);
  }
  return start_us_ + mul_add_floor_div(overall, 1'000'000, 0, rate_per_second_);
}

}  // namespace sluice::loadgen

#include "loadgen/schedule.h"

#include <cassert>

#include "base/arith.h"

namespace sluice::loadgen {

Schedule::Schedule(std::int64_t rate_per_second, std::int64_t start_us, Share share)
    : rate_per_second_(rate_per_second), start_us_(start_us), share_(share) {
  assert(rate_per_second >= 0 && start_us >= 0 && share.thread < share.threads);
  next_us_ = open_loop() ? due_us(0) : start_us_;
}

std::optional<std::int64_t> Schedule::take(std::int64_t now_us) {
  if (now_us < next_us_) return std::nullopt;
  if (!open_loop()) return now_us;
  const std::int64_t due = next_us_;
  next_us_ = due_us(++taken_);
  return due;
}

// Computed from the start each time, so that rounding to microseconds never adds up.
std::int64_t Schedule::due_us(std::int64_t n) const {
  const std::int64_t overall = n * share_.threads + share_.thread;
  return start_us_ + mul_add_floor_div(overall, 1'000'000, 0, rate_per_second_);
}

}  // namespace sluice::loadgen

#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "base/limits.h"

namespace sluice {

// How many calls may wait for a server: as many as it answers within kWaitUs at its recent speed. Not
// thread-safe; it has no clock of its own.
//
// The speed is measured while calls wait, because only then does the server work at full speed: answers in an
// interval, divided by its length. Before the first measurement, and for a slow server, the bound is
// kRedisQueueMin, so that an idle system can take a burst.
class QueueBound {
 public:
  static constexpr std::int64_t kWaitUs = 10'000;

  // `calls` calls were answered; `others_wait`: more were queued meanwhile.
  void note_answers(std::size_t calls, bool others_wait, std::int64_t now_us) {
    if (!others_wait) {
      since_us_ = kNever;
      return;
    }
    if (since_us_ == kNever) {
      since_us_ = now_us;
      answered_ = 0;
      return;
    }
    answered_ += calls;
    if (now_us - since_us_ < kWhileUs) return;
    const double in_time = static_cast<double>(answered_) * kWaitUs / static_cast<double>(now_us - since_us_);
    in_time_ = in_time_ == 0 ? in_time : (in_time_ + in_time) / 2;
    since_us_ = now_us;
    answered_ = 0;
  }

  std::size_t max() const {
    return std::clamp(static_cast<std::size_t>(in_time_), kRedisQueueMin, kRedisQueueMax / 2);
  }

 private:
  static constexpr std::int64_t kWhileUs = 5'000, kNever = INT64_MIN;

  std::int64_t since_us_ = kNever;  // calls have waited without a break since then
  std::size_t answered_ = 0;        // since then
  double in_time_ = 0;              // answers within kWaitUs; 0: not known
};

}  // namespace sluice

#pragma once

#include <cstdint>
#include <limits>
#include <optional>

namespace sluice::loadgen {

class Recording;

// Says when the next call is meant to be sent. Not thread-safe: one per thread, each with its share of the
// calls.
//
// Closed loop (rate 0): at once, whenever a place is free; the server sets the pace. Open loop: call n of all
// threads is meant for start + n ÷ rate, whatever has become of the calls before it. A call that finds no
// free place, or a generator that is late, changes when it is sent but not when it was meant to be sent, and
// latency counts from there. So a server that stalls for a second shows a second in the percentiles of every
// call that fell into it, not in one.
//
// A replay at the pace of a recording is an open loop, too: call n is meant for start + its time ÷ speed.
class Schedule {
 public:
  struct Share {
    std::uint32_t thread = 0;  // 0…threads−1
    std::uint32_t threads = 1;
  };
  // REQUIRES: rate_per_second >= 0, start_us >= 0.
  Schedule(std::int64_t rate_per_second, std::int64_t start_us, Share share);
  // REQUIRES: speed > 0, start_us >= 0; the recording outlives this.
  Schedule(const Recording& recording, double speed, std::int64_t start_us, Share share);

  bool open_loop() const { return rate_per_second_ > 0 || recording_ != nullptr; }
  // When the next call is meant to be sent; in a closed loop always due; INT64_MAX after the last recorded.
  std::int64_t next_due_us() const { return next_us_; }
  // Takes the next call if it is due: the time its latency counts from.
  std::optional<std::int64_t> take(std::int64_t now_us);

 private:
  std::int64_t due_us(std::int64_t n) const;

  const std::int64_t rate_per_second_ = 0;
  const Recording* const recording_ = nullptr;
  const double speed_ = 0;
  const std::int64_t start_us_;
  const Share share_;
  std::int64_t taken_ = 0;
  std::int64_t next_us_;
};

}  // namespace sluice::loadgen

#pragma once

#include <cstdint>
#include <limits>
#include <optional>

namespace sluice::loadgen {

class Recording;

// Determines when the next call is due. Not thread-safe: one per thread, each with its share of the calls.
//
// Closed loop (rate 0): a call is due whenever a slot is free; the server sets the pace. Open loop: call n of
// all threads is due at start + n ÷ rate, whatever happened to the calls before it. If there is no free slot,
// or the generator is late, the call is sent later, but its latency still counts from the time it was due. So
// if a server stalls for a second, the percentiles show that second for every call due in it, not just for
// one.
//
// A replay at the pace of a recording is also an open loop: call n is due at start + its time ÷ speed.
class Schedule {
 public:
  struct Share {
    std::uint32_t thread = 0;  // 0…threads−1
    std::uint32_t threads = 1;
  };
  // REQUIRES: rate_per_second >= 0, start_us >= 0.
  Schedule(std::int64_t rate_per_second, std::int64_t start_us, Share share);
  // REQUIRES: speed > 0, start_us >= 0; the recording outlives this object.
  Schedule(const Recording& recording, double speed, std::int64_t start_us, Share share);

  bool open_loop() const { return rate_per_second_ > 0 || recording_ != nullptr; }
  // When the next call is due; always due in a closed loop; INT64_MAX after the last recorded call.
  std::int64_t next_due_us() const { return next_us_; }
  // Takes the next call if it is due; returns the time from which its latency counts.
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

#pragma once

#include <cstdint>

namespace sluice {

// A Clock tells the time in microseconds since the Unix epoch. Implementations are thread-safe.
//
// Everything that needs the time takes a `Clock&` (or is told the time by the store); no other file may
// read a real clock, and `make check` sees to it. That is what lets tests and replays own the time.
class Clock {
 public:
  virtual ~Clock() = default;
  virtual std::int64_t now_us() const = 0;
};

// Reads the wall clock once, when made, and follows the monotonic clock from there: an operator or NTP
// that sets the wall clock neither mints tokens nor freezes anybody. Thread-safe.
class SystemClock final : public Clock {
 public:
  SystemClock();
  std::int64_t now_us() const override;

 private:
  const std::int64_t wall_minus_monotonic_us_;
};

// Reads the wall clock each time, so it jumps when that is set: only to compare with other machines' clocks.
// Thread-safe.
class WallClock final : public Clock {
 public:
  std::int64_t now_us() const override;
};

// A clock that stands still until it is told to move, in either direction. Not thread-safe while it moves.
class ManualClock final : public Clock {
 public:
  explicit ManualClock(std::int64_t now_us) : now_us_(now_us) {}
  std::int64_t now_us() const override { return now_us_; }
  void set(std::int64_t now_us) { now_us_ = now_us; }
  void advance(std::int64_t delta_us) { now_us_ += delta_us; }

 private:
  std::int64_t now_us_;
};

}  // namespace sluice

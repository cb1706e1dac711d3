#pragma once

#include <cstdint>

namespace sluice {

// A Clock tells the time in microseconds since the Unix epoch. Implementations are thread-safe.
//
// Code that needs the time takes a `Clock&` (or gets the time from the store). No other file may read a real
// clock; `make check` enforces this. So tests and replays control the time.
class Clock {
 public:
  virtual ~Clock() = default;
  virtual std::int64_t now_us() const = 0;
};

// Reads the wall clock once, on construction, and follows the monotonic clock from there: if an operator or
// NTP sets the wall clock, no quota is gained and no caller is blocked. Thread-safe.
class SystemClock final : public Clock {
 public:
  SystemClock();
  std::int64_t now_us() const override;

 private:
  const std::int64_t wall_minus_monotonic_us_;
};

// Reads the wall clock each time, so it jumps when that is set. Use it only to compare with the clocks of
// other machines. Thread-safe.
class WallClock final : public Clock {
 public:
  std::int64_t now_us() const override;
};

// A clock that moves only when told to, in either direction. Not thread-safe while it moves.
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

#include "base/clock.h"

#include <ctime>

#include "base/coarse_clock.h"
#include "base/steady_now.h"

namespace sluice {
namespace {

std::int64_t read_us(clockid_t id) {
  timespec t{};
  clock_gettime(id, &t);
  return std::int64_t{t.tv_sec} * 1'000'000 + t.tv_nsec / 1'000;
}

}  // namespace

SystemClock::SystemClock() : wall_minus_monotonic_us_(read_us(CLOCK_REALTIME) - read_us(CLOCK_MONOTONIC)) {}

std::int64_t SystemClock::now_us() const { return wall_minus_monotonic_us_ + read_us(CLOCK_MONOTONIC); }

std::int64_t WallClock::now_us() const { return read_us(CLOCK_REALTIME); }

std::chrono::steady_clock::time_point steady_now() { return std::chrono::steady_clock::now(); }

// The monotonic clock first: time that passes in between makes this clock later, not earlier.
CoarseClock::CoarseClock(const Clock& exact)
    : minus_monotonic_us_([&exact] {
        const std::int64_t monotonic_us = read_us(CLOCK_MONOTONIC);
        return exact.now_us() - monotonic_us;
      }()) {}

std::int64_t CoarseClock::now_us() const { return minus_monotonic_us_ + read_us(CLOCK_MONOTONIC_COARSE); }

}  // namespace sluice

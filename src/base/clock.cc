#include "base/clock.h"

#include <ctime>

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

}  // namespace sluice

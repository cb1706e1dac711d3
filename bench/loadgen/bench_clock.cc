#include "loadgen/bench_clock.h"

#include <ctime>

namespace sluice::loadgen {

std::int64_t monotonic_ns() {
  timespec t{};
  clock_gettime(CLOCK_MONOTONIC, &t);
  return std::int64_t{t.tv_sec} * 1'000'000'000 + t.tv_nsec;
}

}  // namespace sluice::loadgen

#pragma once

#include <cstdint>

namespace sluice::loadgen {

// Nanoseconds on the monotonic clock, for operations shorter than a microsecond. Thread-safe.
std::int64_t monotonic_ns();

}  // namespace sluice::loadgen

#pragma once

#include <chrono>

namespace sluice {

// The time on the clock on which callers of the library name their deadlines. Thread-safe.
std::chrono::steady_clock::time_point steady_now();

}  // namespace sluice

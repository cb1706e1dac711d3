#pragma once

#include <cstdint>
#include <ostream>

#include "algorithm/step.h"
#include "base/testing/seed.h"

// Helpers shared by the tests of the algorithms.
namespace sluice {

// test_seed() for a 32-bit generator. Print it on failure.
inline std::uint32_t seed_for_test() { return static_cast<std::uint32_t>(test_seed()); }

// In the notation of the vector files.
inline void PrintTo(const Outcome& o, std::ostream* out) {
  *out << (o.allowed ? "yes " : "no ") << o.remaining << ' ' << o.retry_after_us << ' ' << o.reset_after_us;
}
inline void PrintTo(const State& s, std::ostream* out) { *out << s.at << ' ' << s.first << ' ' << s.second; }
inline void PrintTo(const LogEntry& e, std::ostream* out) { *out << e.at_us << ':' << e.cost; }

}  // namespace sluice

#pragma once

#include <cstdint>
#include <cstdlib>
#include <ostream>
#include <random>

#include "algorithm/step.h"

// What the tests of the algorithms share.
namespace sluice {

// The seed of a random test: SLUICE_SEED from the environment, to replay a failure, or a new one. Print it on
// failure.
inline std::uint32_t seed_for_test() {
  if (const char* given = std::getenv("SLUICE_SEED"))
    return static_cast<std::uint32_t>(std::strtoul(given, nullptr, 10));
  return std::random_device{}();
}

// In the words of the vector files.
inline void PrintTo(const Outcome& o, std::ostream* out) {
  *out << (o.allowed ? "yes " : "no ") << o.remaining << ' ' << o.retry_after_us << ' ' << o.reset_after_us;
}
inline void PrintTo(const State& s, std::ostream* out) { *out << s.at << ' ' << s.first << ' ' << s.second; }
inline void PrintTo(const LogEntry& e, std::ostream* out) { *out << e.at_us << ':' << e.cost; }

}  // namespace sluice

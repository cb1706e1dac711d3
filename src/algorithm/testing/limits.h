#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <ostream>
#include <string>

#include "algorithm/step.h"
#include "base/testing/seed.h"

// Helpers shared by the tests of the algorithms.
namespace sluice {

// What was admitted in a life.
struct Admission {
  std::int64_t at_us;
  std::int64_t cost;
};

// The name of a parameterized test.
inline std::string name_of_param(const testing::TestParamInfo<Algorithm>& info) {
  return std::string(to_string(info.param));
}

// test_seed() for a 32-bit generator. Print it on failure.
inline std::uint32_t seed_for_test() { return static_cast<std::uint32_t>(test_seed()); }

// In the notation of the vector files.
inline void PrintTo(const Outcome& o, std::ostream* out) {
  *out << (o.allowed ? "yes " : "no ") << o.remaining << ' ' << o.retry_after_us << ' ' << o.reset_after_us;
}
inline void PrintTo(const State& s, std::ostream* out) { *out << s.at << ' ' << s.first << ' ' << s.second; }
inline void PrintTo(const LogEntry& e, std::ostream* out) { *out << e.at_us << ':' << e.cost; }

}  // namespace sluice

#pragma once

#include <cstdint>
#include <cstdlib>
#include <random>

namespace sluice {

// The seed of a random test: a new one each time, or SLUICE_SEED=n to replay a failure.
inline std::uint64_t test_seed() {
  if (const char* given = std::getenv("SLUICE_SEED")) return std::strtoull(given, nullptr, 10);
  return std::random_device()();
}

}  // namespace sluice

#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdio>
#include <string>
#include <utility>

namespace sluice {

// How near a test came to a bound that it tries to break. Not thread-safe. Prints a line when it ends:
//
//   BoundWatch watch("fixed_window, in any period", seed);
//   watch.see(admitted, 2 * n);           // false, and the test fails: more than the bound
//
//   fixed_window, in any period: 1994 of at most 1994, 100.0 % of the bound (seed 42)
class BoundWatch {
 public:
  BoundWatch(std::string what, std::uint64_t seed) : what_(std::move(what)), seed_(seed) {}
  BoundWatch(const BoundWatch&) = delete;
  BoundWatch& operator=(const BoundWatch&) = delete;
  ~BoundWatch() {
    if (most_ == 0) return;  // nothing was seen
    std::printf("%s: %lld of at most %lld, %.1f %% of the bound (seed %llu)\n", what_.c_str(),
                static_cast<long long>(units_), static_cast<long long>(most_), 100 * nearest(),
                static_cast<unsigned long long>(seed_));
  }

  // REQUIRES: most >= 0
  bool see(std::int64_t units, std::int64_t most) {
    if (units > most)
      ADD_FAILURE() << what_ << ": " << units << " of at most " << most << "; SLUICE_SEED=" << seed_;
    if (share(units, most) > nearest() || most_ == 0) units_ = units, most_ = most;
    return units <= most;
  }
  // 1: the bound was reached.
  double nearest() const { return share(units_, most_); }

 private:
  static double share(std::int64_t units, std::int64_t most) {
    return most == 0 ? 0 : static_cast<double>(units) / static_cast<double>(most);
  }

  const std::string what_;
  const std::uint64_t seed_;
  std::int64_t units_ = 0, most_ = 0;  // of the nearest
};

}  // namespace sluice

#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace sluice {

// Counts durations in buckets, from 50 µs to one second and beyond. Plain data; see also CheckMeter.
struct DurationHistogram {
  // In nanoseconds; the last bucket has no bound.
  static constexpr std::array<std::int64_t, 14> kBounds = {
      50'000,     100'000,    250'000,    500'000,     1'000'000,   2'500'000,   5'000'000,
      10'000'000, 25'000'000, 50'000'000, 100'000'000, 250'000'000, 500'000'000, 1'000'000'000};
  // The same in seconds, as Prometheus writes them.
  static constexpr std::array<std::string_view, 14> kBoundTexts = {
      "0.00005", "0.0001", "0.00025", "0.0005", "0.001", "0.0025", "0.005",
      "0.01",    "0.025",  "0.05",    "0.1",    "0.25",  "0.5",    "1"};
  static constexpr std::size_t kBuckets = kBounds.size() + 1;

  static constexpr std::size_t bucket_of(std::int64_t ns) {
    return static_cast<std::size_t>(std::ranges::lower_bound(kBounds, ns) - kBounds.begin());
  }

  void add(std::int64_t ns) {
    ++counts[bucket_of(ns)];
    sum_ns += static_cast<std::uint64_t>(std::max<std::int64_t>(ns, 0));
  }
  DurationHistogram& operator+=(const DurationHistogram& other) {
    for (std::size_t i = 0; i < kBuckets; ++i) counts[i] += other.counts[i];
    sum_ns += other.sum_ns;
    return *this;
  }

  std::array<std::uint64_t, kBuckets> counts{};  // each bucket alone
  std::uint64_t sum_ns = 0;
};

}  // namespace sluice

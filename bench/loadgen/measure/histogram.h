#pragma once

#include <cstdint>
#include <vector>

namespace sluice::loadgen {

// Counts values in log-linear buckets: each power of two is split into 128 equal parts, so a quantile is at
// most 1/128 too high, whatever its size, and never too low. Not thread-safe; each thread keeps its own, and
// they are merged.
//
//   Histogram latency_us;
//   latency_us.record(380);
//   latency_us.quantile(0.99);
class Histogram {
 public:
  static constexpr std::int64_t kValueMax =
      (std::int64_t{1} << 36) - 1;  // larger ones count as this: 19 hours in µs

  Histogram();
  // Values below 0 count as 0.
  void record(std::int64_t value);
  void merge(const Histogram& other);

  std::uint64_t count() const { return count_; }
  std::int64_t max() const { return max_; }
  double mean() const;
  // An upper bound of the value that a share `q` of all values does not exceed; 0 if empty. REQUIRES: 0 <= q
  // <= 1.
  std::int64_t quantile(double q) const;

 private:
  std::vector<std::uint64_t> buckets_;
  std::uint64_t count_ = 0;
  std::int64_t max_ = 0;
  std::int64_t sum_ = 0;
};

}  // namespace sluice::loadgen

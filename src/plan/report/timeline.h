#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace sluice::plan {

// Requests over time in at most kBuckets buckets of equal width, however long the log is: when it outgrows
// them, pairs of buckets are merged. Not thread-safe.
class Timeline {
 public:
  static constexpr std::size_t kBuckets = 240;
  struct Bucket {
    std::uint64_t requests = 0;
    std::uint64_t denied = 0;
    std::uint64_t newly_denied = 0;
  };

  // REQUIRES: at_us is not before that of the first call.
  void add(std::int64_t at_us, bool denied, bool newly_denied);

  std::int64_t begin_us() const { return begin_us_; }
  std::int64_t width_us() const { return width_us_; }
  std::span<const Bucket> buckets() const { return {buckets_.data(), used_}; }

 private:
  void widen();

  std::int64_t begin_us_ = -1;
  std::int64_t width_us_ = 1'000'000;
  std::size_t used_ = 0;
  std::array<Bucket, kBuckets> buckets_;
};

// The highest amount in any one window of time. Windows are numbered, and the numbers never go back.
// Not thread-safe.
class PeakWindow {
 public:
  void add(std::int64_t window, std::uint64_t amount) {
    if (window != window_) window_ = window, amount_ = 0;
    amount_ += amount;
    if (amount_ > most_) most_ = amount_, most_window_ = window;
  }
  std::uint64_t most() const { return most_; }
  std::int64_t most_window() const { return most_window_; }

 private:
  std::int64_t window_ = -1;
  std::uint64_t amount_ = 0;
  std::uint64_t most_ = 0;
  std::int64_t most_window_ = -1;
};

}  // namespace sluice::plan

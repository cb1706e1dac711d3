#pragma once

#include <algorithm>
#include <cstdint>

#include "base/time_units.h"

namespace sluice {

// Random numbers for sampling: fast, and good enough for that. Not thread-safe.
class SampleRandom {
 public:
  explicit SampleRandom(std::uint64_t seed) : state_(seed) {}
  std::uint64_t next() {
    std::uint64_t z = state_ += 0x9e3779b97f4a7c15;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
  }
  // In [0, 1).
  double unit() { return static_cast<double>(next() >> 11) * 0x1p-53; }

 private:
  std::uint64_t state_;
};

// Picks about kPerSecond of the checks of a loop, or all if there are fewer. So what is done with a picked
// check costs a bounded part of the processor, however many checks there are. Not thread-safe.
//
//   if (sampler.picks()) note(check, sampler.weight());   // it stands for so many checks
//
// The gaps between picks are random: each check is picked with the same probability, 1 ÷ weight(), even if
// the traffic repeats itself in some rhythm.
class Sampler {
 public:
  static constexpr std::int64_t kPerSecond = 10'000;

  explicit Sampler(std::uint64_t seed) : random_(seed) {}

  bool picks() {
    if (--left_ > 0) [[likely]]
      return false;
    pick();
    return true;
  }
  // Of the check that was picked last.
  double weight() const { return weight_; }

  // Follows the rate of checks. Called by the loop, about every ten milliseconds.
  void tick(std::int64_t now_us) {
    if (now_us - since_us_ < kWindowUs) return;
    const double per_second = seen_ * kSecondUs / static_cast<double>(now_us - since_us_);
    mean_gap_ = std::clamp(static_cast<std::int64_t>(per_second / kPerSecond) + 1, std::int64_t{1}, kGapMax);
    left_ = std::min(left_, 2 * mean_gap_);
    since_us_ = now_us;
    seen_ = 0;
    picked_ = 0;
  }

  SampleRandom& random() { return random_; }

 private:
  static constexpr std::int64_t kWindowUs = 100'000;
  static constexpr std::int64_t kPerWindow = kPerSecond * kWindowUs / kSecondUs;
  static constexpr std::int64_t kGapMax = 1 << 20;

  [[gnu::noinline]] void pick() {
    weight_ = static_cast<double>(mean_gap_);
    seen_ += weight_;
    // A burst within a window: half as many from here on.
    if (++picked_ == kPerWindow) {
      picked_ = kPerWindow / 2;
      mean_gap_ = std::min(2 * mean_gap_, kGapMax);
    }
    const auto choices = static_cast<std::uint64_t>(2 * mean_gap_ - 1);
    left_ = 1 + static_cast<std::int64_t>(random_.next() % choices);
  }

  SampleRandom random_;
  std::int64_t left_ = 1;      // checks until the next pick, that one included
  std::int64_t mean_gap_ = 1;  // of the gap that is running
  double weight_ = 1;
  double seen_ = 0;  // checks in this window, estimated
  std::int64_t picked_ = 0;
  std::int64_t since_us_ = 0;
};

}  // namespace sluice

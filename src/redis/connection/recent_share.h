#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace sluice::redis {

// The share of recent events that were bad. Not thread-safe; it has no clock of its own.
class RecentShare {
 public:
  struct Sum {
    std::uint64_t all = 0;
    std::uint64_t bad = 0;
  };

  explicit RecentShare(std::int64_t window_us) : part_us_(window_us / kParts) {}

  void add(std::uint64_t all, std::uint64_t bad, std::int64_t now_us) {
    const std::int64_t number = now_us / part_us_;
    Part& part = parts_[static_cast<std::size_t>(number % kParts)];
    if (part.number != number) part = {.number = number, .sum = {}};
    part.sum.all += all;
    part.sum.bad += bad;
  }

  Sum sum(std::int64_t now_us) const {
    Sum sum;
    for (const Part& part : parts_) {
      if (part.number <= now_us / part_us_ - kParts) continue;
      sum.all += part.sum.all;
      sum.bad += part.sum.bad;
    }
    return sum;
  }

  void clear() { parts_ = {}; }

 private:
  // The window is a ring of parts; the oldest is forgotten when a new one begins.
  static constexpr std::int64_t kParts = 10;
  struct Part {
    std::int64_t number = -1;  // time ÷ length of a part
    Sum sum;
  };

  const std::int64_t part_us_;
  std::array<Part, kParts> parts_;
};

}  // namespace sluice::redis

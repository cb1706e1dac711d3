#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "algorithm/limit_params.h"
#include "store/charge.h"

namespace sluice {

// The life of one counter as a group for tests/vectors, recorded while a random test runs. If the test fails,
// the group replays what happened to the counter: save it, run `reference.py fill`, and read it.
class VectorLife {
 public:
  // A charge and its outcome. Returns the number of its row.
  int charge(const LimitParams& limit, const Charge& charge, bool check_allowed, bool had_room,
             std::int64_t now_us) {
    const bool counts = charge.on_denial == OnDenial::kCharge;
    if (counts != std::exchange(count_denied_, counts))
      text_ += std::string("count_denied ") + (counts ? "on\n" : "off\n");
    // If another counter of the check had no room, it was only a look. (That it counts in a leaky bucket
    // cannot be told by one counter alone.)
    const bool untouched = !check_allowed && had_room && !counts;
    return row(limit, std::to_string(now_us) + ' ' + std::to_string(untouched ? 0 : charge.cost));
  }

  int refund(const LimitParams& limit, int row_of_charge, std::int64_t now_us) {
    return row(limit, "refund " + std::to_string(now_us) + ' ' + std::to_string(row_of_charge));
  }

  // Gives units back without knowing when they were charged.
  int give_back(const LimitParams& limit, std::int64_t units, std::int64_t now_us) {
    return row(limit, "return " + std::to_string(now_us) + ' ' + std::to_string(units));
  }

  const std::string& text() const { return text_; }

 private:
  int row(const LimitParams& limit, const std::string& words) {
    if (limit != limit_) {
      limit_ = limit;
      text_ += "limit " + std::string(to_string(limit.algorithm)) + ' ' + std::to_string(limit.rate.count) +
               '/' + std::to_string(limit.rate.period_us) + "us" +
               (limit.is_bucket() && limit.capacity > 0 ? " burst " + std::to_string(limit.capacity) : "") +
               (limit.scale > 0 ? " scale " + std::to_string(limit.scale) : "") + '\n';
    }
    text_ += words + '\n';
    return ++rows_;
  }

  std::string text_ = "fresh\n";
  LimitParams limit_;
  bool count_denied_ = false;
  int rows_ = 0;
};

}  // namespace sluice

#pragma once

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <random>
#include <utility>

#include "algorithm/migrate.h"
#include "base/limits.h"

// Random lives of counters, for tests of invariants.
namespace sluice {

inline constexpr OnDenial kBoth[] = {OnDenial::kFree, OnDenial::kCharge};

// One counter of any algorithm. A copy is a separate counter.
struct Counter {
  LimitParams limit;
  State state = {};
  Log log = {};

  Outcome decide(std::int64_t now_us, std::int64_t cost, OnDenial on_denial = OnDenial::kFree) {
    if (limit.algorithm == Algorithm::kSlidingLog) return step(limit, log, now_us, cost, on_denial);
    const Stepped stepped = step(limit, state, now_us, cost, on_denial);
    state = stepped.state;
    return stepped.outcome;
  }
  // What decide() would return, without changing the counter.
  Outcome would(std::int64_t now_us, std::int64_t cost, OnDenial on_denial = OnDenial::kFree) const {
    return Counter(*this).decide(now_us, cost, on_denial);
  }
  // The counter as other numbers see it.
  Counter seen_by(const LimitParams& to, std::int64_t now_us) const {
    Kept kept = moved(limit, to, {state, log}, now_us).kept;
    return {to, kept.state, std::move(kept.log)};
  }
  bool fresh(std::int64_t now_us) const {
    return limit.algorithm == Algorithm::kSlidingLog ? is_fresh(limit, log, now_us)
                                                     : is_fresh(limit, state, now_us);
  }
};

class Dice {
 public:
  explicit Dice(std::uint32_t seed) : engine_(seed) {}
  std::int64_t between(std::int64_t low, std::int64_t high) {
    return std::uniform_int_distribution<std::int64_t>(low, high)(engine_);
  }
  std::int64_t one_of(std::initializer_list<std::int64_t> values) {
    return values.begin()[between(0, static_cast<std::int64_t>(values.size()) - 1)];
  }

  LimitParams limit(Algorithm algorithm) {
    while (true) {
      const std::int64_t most = algorithm == Algorithm::kSlidingLog ? kSlidingLogMax : kRateMax;
      const std::int64_t count = std::min(
          one_of({1, 2, 3, 7, 10, 100, 997, 30'000, 10'000'000, between(1, 5000), between(1, most)}), most);
      const std::int64_t period = one_of({1'000, 7'000, 1'000'000, 60'000'000, 90'000'000, 3'600'000'000,
                                          86'400'000'000, between(kPeriodUsMin, kPeriodUsMax)});
      std::optional<std::int64_t> burst;
      if (algorithm <= Algorithm::kLeakyBucket && between(0, 1) == 0)
        burst = one_of({1, 2, 5, between(1, 2 * count)});
      if (const auto params = make_limit_params(algorithm, {count, period}, burst)) return *params;
    }
  }
  std::int64_t cost(const LimitParams& p) {
    const std::int64_t share = std::max<std::int64_t>(p.capacity / 4, 1);
    return std::min(one_of({0, 1, 1, 1, between(1, share), between(1, share), p.capacity, p.capacity + 1}),
                    kCostMax);
  }
  std::int64_t pause_us(const LimitParams& p) {
    const std::int64_t pace = p.rate.period_us / p.rate.count;
    return one_of({0, 0, 1, between(0, pace + 1), between(0, 3 * pace + 1), between(0, p.rate.period_us),
                   between(0, p.rate.period_us / 10), p.rate.period_us});
  }

 private:
  std::mt19937_64 engine_;
};

}  // namespace sluice

#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "algorithm/migrate.h"
#include "algorithm/refund.h"
#include "base/clock.h"
#include "store/pressure.h"
#include "store/store.h"

namespace sluice {

// The slow and obvious store, to compare others with in tests: a map of what every counter holds; each is
// copied before a check and put back if the check is denied. It never forgets. Not thread-safe.
class NaiveStore final : public Store {
 public:
  NaiveStore(const Clock& clock, const ParamsTable& params) : clock_(clock), params_(params) {}

  Verdict apply(std::span<const Charge> charges, std::span<ChargeResult> results,
                std::int64_t& now_us) override {
    now_us = clock_.now_us();
    std::vector<Counter> before;
    bool all_fit = true;
    for (std::size_t i = 0; i < charges.size(); ++i) {
      before.push_back(move(charges[i]));
      results[i] = take(charges[i], charges[i].cost);
      all_fit &= results[i].outcome.allowed;
    }
    for (std::size_t i = 0; i < charges.size() && !all_fit; ++i) {
      if (!results[i].outcome.allowed) continue;
      if (charges[i].on_denial == OnDenial::kFree) {
        counters_[charges[i].key] = before[i];
        results[i] = look(charges[i]);
      }
      if (params_[charges[i].params].algorithm == Algorithm::kLeakyBucket)
        count_denial(charges[i], before[i], results[i]);
    }
    return all_fit ? Verdict::kAllowed : Verdict::kDenied;
  }

  Verdict refund(std::span<const Charge> charges, std::span<ChargeResult> results, std::int64_t granted_at_us,
                 std::int64_t& now_us) override {
    now_us = clock_.now_us();
    for (std::size_t i = 0; i < charges.size(); ++i) {
      const Charge& charge = charges[i];
      const LimitParams& params = params_[charge.params];
      Counter& counter = move(charge);
      const bool stays = !is_given_back(charge, granted_at_us);
      const Grant grant(granted_at_us, charge.cost, results[i].outcome);
      if (!stays && is_log(params))
        sluice::refund(params, counter.log, clock_.now_us(), grant);
      else if (!stays)
        counter.state = sluice::refund(params, counter.state, clock_.now_us(), grant);
      results[i] = look(charge);
      if (!stays) counter.warned = warns(params, results[i].outcome.remaining, counter.warned);
    }
    return Verdict::kAllowed;
  }

  int reset(std::span<const KeyHash> keys) override {
    int existed = 0;
    for (const KeyHash& key : keys) existed += static_cast<int>(counters_.erase(key));
    return existed;
  }
  Stats stats() const override { return {.keys = counters_.size()}; }

 private:
  struct Counter {
    ParamsId params = 0;
    State state;
    Log log;
    bool warned = false;
  };

  static bool is_log(const LimitParams& params) { return params.algorithm == Algorithm::kSlidingLog; }

  // The counter of a charge, under the numbers of its limit.
  Counter& move(const Charge& charge) {
    Counter& counter = counters_[charge.key];
    const ParamsId former = std::exchange(counter.params, charge.params);
    if (former == 0 || former == charge.params) return counter;
    const LimitParams &from = params_[former], &to = params_[charge.params];
    const std::int64_t now_us = clock_.now_us();
    if (to.on_change == OnChange::kReset) counter.warned = false;
    if (is_log(from) && is_log(to))
      migrate_log(from, to, counter.log, now_us);
    else if (is_log(from))
      counter.state = migrate_from_log(from, to, std::exchange(counter.log, {}), now_us);
    else if (is_log(to))
      counter.log = migrate_to_log(from, to, std::exchange(counter.state, {}), now_us);
    else
      counter.state = migrate(from, to, counter.state, now_us);
    return counter;
  }

  ChargeResult take(const Charge& charge, std::int64_t cost) {
    const LimitParams& params = params_[charge.params];
    Counter& counter = counters_[charge.key];
    ChargeResult result;
    if (is_log(params)) {
      result.outcome = step(params, counter.log, clock_.now_us(), cost, charge.on_denial);
    } else {
      const Stepped stepped = step(params, counter.state, clock_.now_us(), cost, charge.on_denial);
      counter.state = stepped.state;
      result.outcome = stepped.outcome;
    }
    if (params.algorithm == Algorithm::kLeakyBucket) result.denied_cost = counter.state.second;
    const bool now_warns = warns(params, result.outcome.remaining, counter.warned);
    result.pressure = pressure_of(result.outcome, now_warns);
    if (cost > 0) counter.warned = now_warns;
    return result;
  }

  // Its level.
  ChargeResult look(Charge charge) {
    charge.on_denial = OnDenial::kFree;
    return take(charge, 0);
  }

  // A leaky bucket that had room counts what another denied.
  void count_denial(const Charge& charge, const Counter& before, ChargeResult& result) {
    State& state = counters_[charge.key].state;
    state = with_denial(params_[charge.params], before.state, state, clock_.now_us(), charge.cost);
    result.denied_cost = state.second;
  }

  const Clock& clock_;
  const ParamsTable& params_;
  std::map<KeyHash, Counter> counters_;
};

}  // namespace sluice

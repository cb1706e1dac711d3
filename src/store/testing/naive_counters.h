#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "algorithm/migrate.h"
#include "algorithm/refund.h"
#include "base/clock.h"
#include "store/memory/counters.h"
#include "store/pressure.h"

namespace sluice {

// The slow and obvious Counters, to compare others with in tests: a map. A check is tried on copies,
// which are kept if the check is to be. It never forgets. Not thread-safe.
class NaiveCounters final : public Counters {
 public:
  NaiveCounters(const Clock& clock, const ParamsTable& params) : clock_(clock), params_(params) {}

  Verdict apply(std::span<const Charge> charges, std::span<ChargeResult> results,
                std::int64_t& now_us) override {
    now_us = clock_.now_us();
    std::vector<bool> fits;
    for (const Charge& charge : charges)
      fits.push_back(decided(charge, counters_[charge.key], true).outcome.allowed);
    const bool all_fit = std::ranges::find(fits, false) == fits.end();
    for (std::size_t i = 0; i < charges.size(); ++i)
      results[i] = settle(charges[i], decided(charges[i], counters_[charges[i].key], all_fit || !fits[i]));
    return all_fit ? Verdict::kAllowed : Verdict::kDenied;
  }

  Verdict refund(std::span<const Charge> charges, std::span<ChargeResult> results, std::int64_t granted_at_us,
                 std::int64_t& now_us) override {
    now_us = clock_.now_us();
    for (std::size_t i = 0; i < charges.size(); ++i) {
      Charge charge = charges[i];
      Counter& counter = counters_[charge.key];
      const LimitParams& kept_by = params_[counter.params != 0 ? counter.params : charge.params];
      const bool moves = !same_numbers(kept_by, params_[charge.params]);
      Grant grant(granted_at_us, charge.cost, results[i].outcome);
      if (moves) grant = under_other_numbers(kept_by, params_[charge.params], grant);
      const bool gives = is_given_back(charge, granted_at_us) && counter.params != 0 && grant.cost > 0;
      if (gives && is_log(kept_by))
        sluice::refund(kept_by, counter.kept.log, now_us, grant);
      else if (gives)
        counter.kept.state = sluice::refund(kept_by, counter.kept.state, now_us, grant);
      charge.cost = 0;
      charge.on_denial = OnDenial::kFree;
      results[i] = settle(charge, decided(charge, counter, true));
      if (gives) counter.warned = warns(params_[charge.params], results[i].outcome.remaining, counter.warned);
    }
    return Verdict::kAllowed;
  }

  int reset(std::span<const KeyHash> keys) override {
    int existed = 0;
    for (const KeyHash& key : keys) existed += static_cast<int>(counters_.erase(key));
    return existed;
  }
  Stats stats() const override { return {.keys = counters_.size()}; }

  struct Counter {
    ParamsId params = 0;  // the numbers it is kept under; 0: fresh
    Kept kept;
    bool warned = false;
  };
  Counter counter(const KeyHash& key) const {
    const auto found = counters_.find(key);
    return found == counters_.end() ? Counter() : found->second;
  }

 private:
  static bool is_log(const LimitParams& params) { return params.algorithm == Algorithm::kSlidingLog; }

  bool moves(const Charge& charge, const Counter& counter) const {
    return counter.params != 0 && !same_numbers(params_[counter.params], params_[charge.params]);
  }

  struct Decided : Touched {
    bool notes_pressure = true;  // false: the counter is left alone, because another one has no room
  };

  // The full decision on a counter; nothing is written.
  Decided decided(const Charge& charge, const Counter& counter, bool others_fit) const {
    const LimitParams& params = params_[charge.params];
    const std::int64_t now_us = clock_.now_us();
    if (moves(charge, counter))
      return {touch(params_[counter.params], params, counter.kept,
                    {now_us, charge.cost, charge.on_denial, others_fit})};
    Decided touched{{.moved = charge.cost > 0, .kept = counter.kept}};
    touched.outcome = stepped(params, touched.kept, charge.cost, charge.on_denial);
    if (touched.outcome.allowed && !others_fit) {
      const bool charged = charge.on_denial == OnDenial::kCharge;
      Kept level = counter.kept;
      const Outcome unchanged = stepped(params, level, 0, OnDenial::kFree);
      if (!charged) touched.outcome = unchanged;
      if (!charged) touched.kept = level;
      touched.kept.state = with_denial(params, counter.kept.state, touched.kept.state, now_us, charge.cost);
      if (!charged) touched.moved = params.algorithm == Algorithm::kLeakyBucket || is_log(params);
      touched.notes_pressure = charged || is_log(params);
    }
    if (params.algorithm == Algorithm::kLeakyBucket) touched.denied_cost = touched.kept.state.second;
    return touched;
  }

  Outcome stepped(const LimitParams& params, Kept& kept, std::int64_t cost, OnDenial on_denial) const {
    if (is_log(params)) return step(params, kept.log, clock_.now_us(), cost, on_denial);
    const Stepped stepped = step(params, kept.state, clock_.now_us(), cost, on_denial);
    kept.state = stepped.state;
    return stepped.outcome;
  }

  ChargeResult settle(const Charge& charge, const Decided& touched) {
    const LimitParams& params = params_[charge.params];
    Counter& counter = counters_[charge.key];
    ChargeResult result{.outcome = touched.outcome, .denied_cost = touched.denied_cost};
    const bool now_warns = warns(params, result.outcome.remaining, counter.warned);
    result.pressure = pressure_of(result.outcome.remaining, now_warns);
    if (charge.cost == 0) return result;
    if (touched.moved)
      counter = {charge.params, touched.kept, touched.notes_pressure ? now_warns : counter.warned};
    else if (moves(charge, counter))
      counter.kept = touched.kept;
    return result;
  }

  const Clock& clock_;
  const ParamsTable& params_;
  std::map<KeyHash, Counter> counters_;
};

}  // namespace sluice

// What MemoryStore does to give back; it is rare, and kept apart from what every check does.
#include <cassert>
#include <mutex>

#include "base/limits.h"
#include "store/memory_store.h"
#include "store/pressure.h"

namespace sluice {

Verdict MemoryStore::refund(std::span<const Charge> charges, std::span<ChargeResult> results,
                            std::int64_t granted_at_us, std::int64_t& now_us) {
  assert(charges.size() == results.size() && charges.size() <= kLimitsPerCheckMax);
  now_us = clock_.now_us();
  for (std::size_t i = 0; i < charges.size(); ++i) {
    const Grant grant(granted_at_us, charges[i].cost, results[i].outcome);
    results[i] = refund_one(charges[i], grant, now_us);
  }
  return Verdict::kAllowed;
}

ChargeResult MemoryStore::refund_one(const Charge& charge, const Grant& grant, std::int64_t now_us) {
  Shard& shard = shard_of(charge.key);
  const std::lock_guard lock(shard.lock);
  const LimitParams& params = params_[charge.params];
  Slot* const slot = shard.find(charge.key, charge.params, now_us);
  const bool gives = slot != nullptr && is_given_back(charge, grant.at_us);
  const bool is_log = params.algorithm == Algorithm::kSlidingLog;
  if (gives) shard.note_sooner_idle();
  ChargeResult result;
  Stepped level;
  if (is_log) {
    Log none;
    if (gives) sluice::refund(params, *slot->log(), now_us, grant);
    result.outcome =
        slot != nullptr ? shard.step_log(*slot, now_us, 0, OnDenial::kFree) : step(params, none, now_us, 0);
  } else {
    State state = slot != nullptr ? slot->state(params.algorithm) : State{};
    if (gives) state = sluice::refund(params, state, now_us, grant);
    level = step(params, state, now_us, 0);
    result.outcome = level.outcome;
    if (params.algorithm == Algorithm::kLeakyBucket) result.denied_cost = level.state.second;
  }
  const bool now_warns = warns(params, result.outcome.remaining, slot != nullptr && slot->warned());
  result.pressure = pressure_of(result.outcome, now_warns);
  if (gives && is_log) slot->set_warned(now_warns);
  if (gives && !is_log) slot->set_state(charge.params, params.algorithm, level.state, now_warns);
  return result;
}

}  // namespace sluice

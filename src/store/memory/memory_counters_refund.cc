// The refunds of MemoryCounters. They are rare, and kept apart from the path of every check.
#include <cassert>
#include <utility>

#include "algorithm/steps/sliding_log.h"
#include "base/limits.h"
#include "store/memory/memory_counters.h"
#include "store/pressure.h"

namespace sluice {
namespace {

void give_back(const LimitParams& params, Kept& kept, std::int64_t now_us, const Grant& grant) {
  if (params.algorithm == Algorithm::kSlidingLog)
    refund(params, kept.log, now_us, grant);
  else
    kept.state = refund(params, kept.state, now_us, grant);
}

}  // namespace

Verdict MemoryCounters::refund(std::span<const Charge> charges, std::span<ChargeResult> results,
                               std::int64_t granted_at_us, std::int64_t& now_us) {
  assert(charges.size() == results.size() && charges.size() <= kLimitsPerCheckMax);
  now_us = clock_.now_us();
  for (std::size_t i = 0; i < charges.size(); ++i) {
    const Grant grant(granted_at_us, charges[i].cost, results[i].outcome);
    results[i] = refund_one(charges[i], grant, now_us);
  }
  return Verdict::kAllowed;
}

// Uses the numbers that the counter is kept under.
ChargeResult MemoryCounters::refund_one(const Charge& charge, const Grant& grant, std::int64_t now_us) {
  Shard& shard = shard_of(charge.key);
  const Lock lock(shard.lock);
  const LimitParams& params = params_[charge.params];
  Slot* const slot = shard.find(charge.key);
  const LimitParams& from = slot != nullptr ? params_[slot->params_id()] : params;
  const bool moving = !same_numbers(from, params);
  Kept kept = slot != nullptr ? shard.kept(*slot) : Kept{};
  const Grant given = moving ? under_other_numbers(from, params, grant) : grant;
  const bool gives = slot != nullptr && is_given_back(charge, grant.at_us) && given.cost > 0;
  if (gives) shard.note_sooner_idle();
  if (gives) give_back(from, kept, now_us, given);

  ChargeResult result;
  if (moving) {
    const Touched look = touch(from, params, kept, {.now_us = now_us});
    result.outcome = look.outcome;
    result.denied_cost = look.denied_cost;
  } else if (params.algorithm == Algorithm::kSlidingLog) {
    result.outcome = sliding_log::would(params, kept.log, now_us, 0);
  } else {
    const Stepped level = step(params, kept.state, now_us, 0);
    result.outcome = level.outcome;
    if (params.algorithm == Algorithm::kLeakyBucket) result.denied_cost = level.state.second;
  }
  const bool now_warns = warns(params, result.outcome.remaining, slot != nullptr && slot->warned());
  result.pressure = pressure_of(result.outcome.remaining, now_warns);
  if (gives) shard.replace(*slot, slot->params_id(), std::move(kept), now_warns);
  return result;
}

}  // namespace sluice

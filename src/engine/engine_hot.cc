// Hot keys: what the engine tells the sketch (hot/hot_sketch.h), and what it tells the callers of hot keys.
#include <algorithm>
#include <array>

#include "engine/engine.h"

namespace sluice {

// The names of the counters of the enforced plan. `joint`: which of them belong to which request; null: there
// is one request.
void Engine::name_keys(std::span<const CheckRequest> requests, const JointPlan* joint, HotNames& names) {
  const Plan& plan = planner_.enforced();
  std::array<std::size_t, kLimitsPerCheckMax> request_of{};
  if (joint)
    for (std::size_t part = 0, i = 0; part < joint->parts.size(); ++part)
      for (; i < joint->parts[part].enforced_end; ++i) request_of[joint->enforced[i]] = part;
  names.clear();
  for (std::size_t i = 0; i < plan.size; ++i) {
    const CheckRequest& request = requests[request_of[i]];
    const CompiledPolicy* const first =
        joint ? joint->parts[request_of[i]].first_policy : planner_.first_policy();
    Dimensions dimensions(request);
    dimensions.imply_tenant(planner_.tenant_of(request, first));
    names.add(*plan.limits[i].policy, *plan.limits[i].limit, dimensions, parts_.hot->shows_values());
  }
}

// Counts what was decided as so many checks. Without an answer it is known only that they were asked.
void Engine::note_hot(const StoreCall& call, std::span<const LimitStatus> limits, const HotNames& names,
                      double checks) {
  const bool is_denied = call.verdict == Verdict::kDenied && call.results_known == limits.size();
  for (std::size_t i = 0; i < limits.size(); ++i)
    parts_.hot->note({.policy = *limits[i].policy,
                      .limit = *limits[i].limit,
                      .key = call.charges[i].key,
                      .name = names[i],
                      .checks = checks,
                      .is_denied = is_denied && call.results[i].outcome.retry_after_us != 0,
                      .is_leased = call.is_lease || call.from_lease});
}

// The latest check, which the store has answered at once, was picked.
[[gnu::noinline]] void Engine::note_picked(std::span<const CheckRequest> requests, const JointPlan* joint) {
  const Plan& plan = planner_.enforced();
  if (plan.size == 0) return;
  name_keys(requests, joint, hot_names_);
  note_hot(calls_[kEnforced], {plan.limits.data(), plan.size}, hot_names_, parts_.hot->weight());
}

// A lease is worth its call if each of its units would otherwise be a call: if even the least busy counter of
// the check is hot.
[[gnu::noinline]] void Engine::advise_lease(std::span<const Charge> charges, Answer& answer) const {
  if (!answer || answer->degraded || charges.empty()) return;
  answer->lease_advised = std::ranges::all_of(
      charges, [this](const Charge& charge) { return parts_.hot->is_promoted(charge.key); });
}

}  // namespace sluice

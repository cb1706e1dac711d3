#include "engine/decision/comparison.h"

#include <optional>

namespace sluice {
namespace {

// Whether the limits of that policy have room; nullopt if they were not asked, or gave no answer.
std::optional<bool> allows(const Answered& answered, const std::string& policy_id) {
  if (!is_answer(answered.verdict)) return std::nullopt;
  std::optional<bool> allowed;
  for (const LimitStatus& status : answered.limits)
    if (status.policy->source.id == policy_id)
      allowed = allowed.value_or(true) && status.result->outcome.retry_after_us == 0;
  return allowed;
}

}  // namespace

void count_differences(const Answered& candidates, const Answered& enforced, const Answered& shadow,
                       DecisionCounters& counters) {
  for (const Answered* answered : {&candidates, &enforced, &shadow})
    if (answered->replayed || answered->conflict) return;
  const CompiledPolicy* last = nullptr;
  for (const LimitStatus& status : candidates.limits) {
    if (status.policy == last) continue;  // the limits of a policy are adjacent
    last = status.policy;
    const std::string& id = last->source.id;
    const auto newly = allows(candidates, id);
    const auto live = allows(enforced, id);
    const auto before = live ? live : allows(shadow, id);
    if (!newly || !before) continue;
    counters.add(*last, DecisionCounters::kCompared);
    if (*before && !*newly) counters.add(*last, DecisionCounters::kNewlyDenied);
    if (!*before && *newly) counters.add(*last, DecisionCounters::kNewlyAllowed);
  }
}

}  // namespace sluice

#pragma once

#include <cstdint>
#include <span>

#include "engine/decision.h"
#include "policy/repository.h"
#include "store/store.h"

namespace sluice {

// The enforced or the shadow limits of a check, and what the store said to them. Of limits that were not
// asked, because there are none, it says nothing.
struct Answered {
  std::span<const Charge> charges;
  // Without any, although there are charges: a replay of a request that came under other limits.
  std::span<LimitStatus> limits;
  Verdict verdict = Verdict::kAllowed;
  bool replayed = false, conflict = false, moving = false;  // as StoreAnswer has them
  std::int64_t now_us = 0;
};

// From what the store said to what the caller is told. Pure.

// The limit to report: with the longest wait if the check was denied, else with the least left. Ties go to
// the first. Null: there is none.
const LimitStatus* tightest_of(std::span<const LimitStatus> limits, bool denied);

// What the enforced limits come to. `first_policy` is the most specific one, or null. REQUIRES: the store has
// answered; `decision` is new.
inline void explain(const CompiledPolicy* first_policy, const Answered& enforced, std::int64_t now_us,
                    Decision& decision) {
  decision.now_us = now_us;
  decision.policy = first_policy;
  if (enforced.charges.empty()) {
    decision.reason = first_policy ? Reason::kNoLimit : Reason::kNoPolicy;
    return;
  }
  decision.cost = enforced.charges.front().cost;
  decision.allowed = enforced.verdict == Verdict::kAllowed;
  decision.limits = enforced.limits;
  decision.tightest = tightest_of(enforced.limits, !decision.allowed);
  if (decision.tightest) decision.policy = decision.tightest->policy;
  if (!decision.allowed)
    decision.reason = decision.tightest && decision.tightest->result->outcome.retry_after_us == kNever
                          ? Reason::kTooLarge
                          : Reason::kLimited;
}

// What becomes of a request that no policy in force is for, where others may be that are not known yet.
inline void explain_unmatched(Unmatched unmatched, Decision& decision) {
  if (decision.reason != Reason::kNoPolicy || unmatched == Unmatched::kNoPolicy) return;
  decision.allowed = unmatched == Unmatched::kUnknownOpen;
  decision.degraded = true;
  decision.reason = Reason::kPoliciesUnknown;
}

// What the shadow limits add to it: never a denial, but a reason, and the numbers if there are no others.
void add_shadow(const Answered& shadow, Decision& decision);

}  // namespace sluice

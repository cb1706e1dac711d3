#pragma once

#include <cstdint>
#include <span>

#include "engine/decision/decision.h"
#include "policy/snapshot/snapshot_publisher.h"
#include "store/charge.h"

namespace sluice {

// The enforced or the shadow limits of a check, and the store's answer to them. Empty if there were no limits
// to ask about.
struct Answered {
  std::span<const Charge> charges;
  // Empty although there are charges: a replay of a request that had other limits.
  std::span<LimitStatus> limits;
  Verdict verdict = Verdict::kAllowed;
  bool replayed = false, conflict = false, moving = false;  // as in StoreAnswer
  std::int64_t now_us = 0;
};

// Pure functions that turn the store's answer into the caller's.

// The limit to report: the one with the longest wait if the check was denied, else the one with the least
// remaining. Ties go to the first. Null if there are none.
const LimitStatus* tightest_of(std::span<const LimitStatus> limits, bool denied);

// Whether the store had no memory for the limit's counter. REQUIRES: it has answered kPartlyCounted
inline bool was_passed_over(const LimitStatus& status) { return status.result->passed_over; }

// Some limits were passed over: says so, and reports one that was counted.
void explain_passed_over(Decision& decision);

// Decides by the enforced limits. `first_policy` is the most specific one, or null. REQUIRES: the store has
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
  decision.allowed = is_allowed(enforced.verdict);
  decision.limits = enforced.limits;
  decision.tightest = tightest_of(enforced.limits, !decision.allowed);
  if (decision.tightest) decision.policy = decision.tightest->policy;
  if (!decision.allowed)
    decision.reason = decision.tightest && decision.tightest->result->outcome.retry_after_us == kNever
                          ? Reason::kTooLarge
                          : Reason::kLimited;
  if (enforced.verdict == Verdict::kPartlyCounted) [[unlikely]]
    explain_passed_over(decision);
}

// Decides a request that no policy in force matches, while there may be policies that are not known yet.
inline void explain_unmatched(Unmatched unmatched, Decision& decision) {
  if (decision.reason != Reason::kNoPolicy || unmatched == Unmatched::kNoPolicy) return;
  decision.allowed = unmatched == Unmatched::kUnknownOpen;
  decision.degraded = true;
  decision.reason = Reason::kPoliciesUnknown;
}

// Adds the shadow limits: never a denial, but a reason, and their numbers if there are no others.
void add_shadow(const Answered& shadow, Decision& decision);

}  // namespace sluice

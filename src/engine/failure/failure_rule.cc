#include "engine/failure/failure_rule.h"

#include <algorithm>

namespace sluice {
namespace {

// Whether a user's own numbers apply to the limit. The policy's `local` numbers are for everybody.
bool is_their_own(const LimitStatus& status) {
  const bool has_local_numbers = status.policy->source.local && status.limit->index == 0;
  return status.numbers != status.limit->numbers && !has_local_numbers;
}

}  // namespace

std::int64_t FailureRule::store_time_us(std::span<const LimitStatus> limits) {
  std::int64_t lifted_us = 0, denied_us = INT64_MAX;
  for (const LimitStatus& status : limits) {
    const Policy& policy = status.policy->source;
    if (policy.on_failure == OnFailure::kClosed)
      denied_us = std::min(denied_us, policy.deadline_us);
    else
      lifted_us = std::max(lifted_us, policy.deadline_us);
  }
  return denied_us == INT64_MAX ? lifted_us : denied_us;
}

StoreCall::WithoutAnswer FailureRule::without_answer(std::span<const LimitStatus> limits) {
  auto known = StoreCall::WithoutAnswer::kPasses;
  for (const LimitStatus& status : limits) {
    const OnFailure rule = status.policy->source.on_failure;
    if (rule == OnFailure::kClosed) return StoreCall::WithoutAnswer::kDenied;
    if (rule == OnFailure::kLocal) known = StoreCall::WithoutAnswer::kUnknown;
  }
  return known;
}

void FailureRule::decide(const Answered& enforced, bool is_local, Decision& decision) {
  decision.policy = enforced.limits.front().policy;
  decision.cost = enforced.charges.front().cost;
  decision.degraded = true;
  const bool is_full = enforced.verdict == Verdict::kNoRoom;
  decision.reason = is_full ? Reason::kStoreFull : Reason::kStoreUnavailable;
  local_counts_ = local_ && !(is_full && is_local);
  const auto any = [&](OnFailure rule) {
    return std::ranges::any_of(enforced.limits, [rule](const LimitStatus& status) {
      return status.policy->source.on_failure == rule;
    });
  };
  const bool has_local = any(OnFailure::kLocal);
  decision.allowed = !any(OnFailure::kClosed) && (!has_local || local_counts_);
  if (decision.allowed && has_local) decision.allowed = ask_local(enforced, decision) == Verdict::kAllowed;
}

void FailureRule::refuse(const Answered& enforced, Decision& decision) {
  decision.policy = enforced.limits.front().policy;
  decision.cost = enforced.charges.front().cost;
  decision.allowed = false;
  decision.degraded = true;
  decision.reason = Reason::kTenantMoving;
}

bool FailureRule::allows(std::span<const LimitStatus> limits, const Decision& together) const {
  if (together.reason == Reason::kTenantMoving) return false;
  return together.allowed || std::ranges::all_of(limits, [&](const LimitStatus& status) {
           const OnFailure rule = status.policy->source.on_failure;
           // No local limit was evaluated if a policy that fails closed denied already.
           return rule == OnFailure::kOpen ||
                  (rule == OnFailure::kLocal && local_counts_ && !together.tightest);
         });
}

Verdict FailureRule::ask_local(const Answered& enforced, Decision& decision) {
  std::size_t size = 0;
  for (std::size_t i = 0; i < enforced.limits.size(); ++i) {
    const LimitStatus& status = enforced.limits[i];
    if (!status.limit->local) continue;
    charges_[size] = enforced.charges[i];
    const CompiledLimit& local = *status.limit->local;
    limits_[size] = {
        .policy = status.policy, .limit = &local, .numbers = status.numbers, .result = &results_[size]};
    if (!is_their_own(status)) {
      charges_[size].params = local.params;
      limits_[size].numbers = local.numbers;
    }
    ++size;
  }
  if (size == 0) return Verdict::kAllowed;
  const Verdict verdict = local_->apply({charges_.data(), size}, {results_.data(), size}, decision.now_us);
  local_counts_ = is_answer(verdict);
  if (!local_counts_) return verdict;
  decision.limits = {limits_.data(), size};
  decision.tightest = tightest_of(decision.limits, verdict == Verdict::kDenied);
  decision.policy = decision.tightest->policy;
  return verdict;
}

}  // namespace sluice

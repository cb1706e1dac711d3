#include "engine/pending_check.h"

namespace sluice {

Answered answered_by(const StoreCall& call, std::span<LimitStatus> limits) {
  if (call.verdict == Verdict::kNoAnswer) return {call.charges, limits, call.verdict};
  if (call.replayed && call.results_known != limits.size()) return {call.charges, {}, call.verdict};
  for (std::size_t i = 0; i < limits.size(); ++i) limits[i].result = call.results[i];
  return {call.charges, limits, call.verdict};
}

void PendingCheck::Half::fill(const Plan& plan, std::optional<Dedupe> identity, std::int64_t deadline) {
  const auto size = static_cast<std::ptrdiff_t>(plan.size);
  charges_.assign(plan.charges.begin(), plan.charges.begin() + size);
  limits_.assign(plan.limits.begin(), plan.limits.begin() + size);
  results_.resize(plan.size);
  charges = charges_;
  results = results_;
  dedupe = identity;
  deadline_us = deadline;
}

Answered PendingCheck::Half::answered() {
  return charges_.empty() ? Answered{} : answered_by(*this, limits_);
}

bool PendingCheck::start(AsyncStore& store) {
  missing_ = 0;
  for (Half* half : {&enforced, &shadow})
    if (!half->charges.empty() && !store.start(*half)) ++missing_;
  return missing_ > 0;
}

}  // namespace sluice

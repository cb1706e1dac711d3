#include "engine/pending_check.h"

namespace sluice {

void PendingCheck::Half::fill(const Plan& plan, std::optional<Dedupe> identity, std::int64_t deadline,
                              std::int64_t refund_of) {
  const auto size = static_cast<std::ptrdiff_t>(plan.size);
  charges_.assign(plan.charges.begin(), plan.charges.begin() + size);
  limits_.assign(plan.limits.begin(), plan.limits.begin() + size);
  results_.resize(plan.size);
  for (std::size_t i = 0; i < plan.size; ++i) limits_[i].result = &results_[i];
  charges = charges_;
  results = results_;
  dedupe = identity;
  deadline_us = deadline;
  refund_of_us = refund_of;
  moving = false;
}

Answered PendingCheck::Half::answered() {
  return charges_.empty() ? Answered{} : answered_by(*this, limits_);
}

bool PendingCheck::start(AsyncStore& store) {
  missing_ = 0;
  for (Half* half : {&enforced, &shadow, &comparison})
    if (!half->charges.empty() && !store.start(*half)) ++missing_;
  return missing_ > 0;
}

}  // namespace sluice

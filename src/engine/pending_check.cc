#include "engine/pending_check.h"

namespace sluice {

void PendingCheck::Half::fill(const Plan& plan, std::optional<Dedupe> identity, const Terms& terms) {
  const auto size = static_cast<std::ptrdiff_t>(plan.size);
  charges_.assign(plan.charges.begin(), plan.charges.begin() + size);
  limits_.assign(plan.limits.begin(), plan.limits.begin() + size);
  results_.assign(plan.size, {});
  for (std::size_t i = 0; i < plan.size; ++i) limits_[i].result = &results_[i];
  charges = charges_;
  results = results_;
  dedupe = identity;
  deadline_us = terms.deadline_us;
  caller_deadline_us = terms.caller_deadline_us;
  flow = terms.flow;
  refund_of_us = terms.refund_of_us;
  without_answer = terms.without_answer;
  forget_answer();
}

Answered PendingCheck::Half::answered() {
  return charges_.empty() ? Answered{} : answered_by(*this, limits_);
}

bool PendingCheck::start(AsyncStore& store) {
  missing_ = 0;
  bool is_shed = false;
  for (Half* half : {&enforced, &shadow, &comparison}) {
    if (half->charges.empty()) continue;
    if (is_shed) {
      half->verdict = Verdict::kShed;
    } else if (!store.start(*half)) {
      ++missing_;
    } else {
      is_shed = half == &enforced && half->verdict == Verdict::kShed;
    }
  }
  return missing_ > 0;
}

}  // namespace sluice

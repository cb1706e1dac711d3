#include "engine/pending_check.h"

namespace sluice {

void PendingCheck::Call::fill(const Plan& plan, std::optional<Dedupe> identity, const Terms& terms) {
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
  is_lease = false;
  forget_answer();
}

Answered PendingCheck::Call::answered() {
  return charges_.empty() ? Answered{} : answered_by(*this, limits_);
}

bool PendingCheck::start(Store& store) {
  missing_ = 0;
  bool is_shed = false;
  for (Call* call : {&enforced, &shadow, &comparison}) {
    if (call->charges.empty()) continue;
    if (is_shed) {
      call->verdict = Verdict::kShed;
    } else if (!store.start(*call)) {
      ++missing_;
    } else {
      is_shed = call == &enforced && call->verdict == Verdict::kShed;
    }
  }
  return missing_ > 0;
}

}  // namespace sluice

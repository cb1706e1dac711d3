#include "engine/decision/explain.h"

#include "engine/decision/reason_names.h"

namespace sluice {
namespace {

bool waits_longer(const LimitStatus& a, const LimitStatus& b) {
  const auto wait = [](const LimitStatus& s) {
    const std::int64_t us = s.result->outcome.retry_after_us;
    return us == kNever ? kExactMax : us;
  };
  return wait(a) > wait(b);
}

bool has_less_left(const LimitStatus& a, const LimitStatus& b) {
  return a.result->outcome.remaining < b.result->outcome.remaining;
}

}  // namespace

const LimitStatus* tightest_of(std::span<const LimitStatus> limits, bool denied) {
  if (limits.empty()) return nullptr;
  const LimitStatus* tightest = &limits.front();
  for (const LimitStatus& status : limits.subspan(1))
    if (denied ? waits_longer(status, *tightest) : has_less_left(status, *tightest)) tightest = &status;
  return tightest;
}

void explain_passed_over(Decision& decision) {
  decision.degraded = true;
  decision.reason = Reason::kStoreFull;
  decision.tightest = nullptr;
  for (const LimitStatus& status : decision.limits) {
    if (was_passed_over(status)) continue;
    if (!decision.tightest || has_less_left(status, *decision.tightest)) decision.tightest = &status;
  }
  if (decision.tightest) decision.policy = decision.tightest->policy;
}

void add_shadow(const Answered& shadow, Decision& decision) {
  if (shadow.charges.empty() || !is_answer(shadow.verdict)) return;
  const bool denied = shadow.verdict == Verdict::kDenied;
  if (decision.reason == Reason::kNoLimit) {  // only shadow policies apply: report their limits
    decision.reason = denied ? Reason::kShadow : Reason::kOk;
    decision.limits = shadow.limits;
    decision.tightest = tightest_of(shadow.limits, denied);
    if (decision.tightest) decision.policy = decision.tightest->policy;
    decision.cost = shadow.charges.front().cost;
  } else if (denied && decision.reason == Reason::kOk) {
    decision.reason = Reason::kShadow;
  }
}

std::string_view to_string(Reason reason) {
  static_assert(kReasonNames.size() == static_cast<std::size_t>(Reason::kPoliciesUnknown) + 1);
  return kReasonNames[static_cast<std::size_t>(reason)];
}

std::string_view to_string(Pressure pressure) {
  constexpr std::string_view kNames[] = {"normal", "warning", "throttled"};
  return kNames[static_cast<std::size_t>(pressure)];
}

}  // namespace sluice

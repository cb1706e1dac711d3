#include "engine/limiter.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/limits.h"
#include "engine/rollout.h"

namespace sluice {
namespace {

constexpr bool kEnforced = false;
constexpr bool kShadow = true;

bool waits_longer(const LimitStatus& a, const LimitStatus& b) {
  const auto wait = [](const LimitStatus& s) {
    const std::int64_t us = s.result.outcome.retry_after_us;
    return us == kNever ? kExactMax : us;
  };
  return wait(a) > wait(b);
}

bool has_less_left(const LimitStatus& a, const LimitStatus& b) {
  return a.result.outcome.remaining < b.result.outcome.remaining;
}

// The limit to report: with the longest wait if the check was denied, else with the least left. Ties go to
// the first.
const LimitStatus* tightest_of(std::span<const LimitStatus> limits, bool denied) {
  const LimitStatus* tightest = nullptr;
  for (const LimitStatus& status : limits)
    if (!tightest || (denied ? waits_longer : has_less_left)(status, *tightest)) tightest = &status;
  return tightest;
}

// What becomes of a check that the store did not answer: the one place that knows. The strictest policy wins.
bool allowed_without_store(std::span<const LimitStatus> limits) {
  return std::ranges::all_of(
      limits, [](const LimitStatus& status) { return status.policy->source.on_failure == OnFailure::kOpen; });
}

}  // namespace

Limiter::Limiter(const Parts& parts) : parts_(parts), counters_(parts.totals) { load_snapshot(); }

void Limiter::load_snapshot() {
  generation_ =
      parts_.policies.generation();  // first: if a newer one comes in between, it is loaded next time
  snapshot_ = parts_.policies.current();
  memo_.valid = false;
  std::vector<DecisionCounters::PolicyNames> names;
  for (const CompiledPolicy& policy : snapshot_->policies()) {
    names.push_back({policy.source.id, {}});
    for (const CompiledLimit& limit : policy.limits) names.back().limits.push_back(limit.name);
  }
  counters_.rebind(std::move(names));
}

void Limiter::match_route(const Dimensions& dimensions) {
  if (memo_.valid && dimensions.tenant() == memo_.tenant && dimensions.resource() == memo_.resource) return;
  snapshot_->match(dimensions.tenant(), dimensions.resource(), KeyRollout(dimensions, parts_.clock),
                   matches_);
  memo_.valid = !snapshot_->has_rollout();
  if (memo_.valid) {
    memo_.tenant = dimensions.tenant();
    memo_.resource = dimensions.resource();
  }
}

Result<void> Limiter::match_named(const CheckRequest& request, const Dimensions& dimensions) {
  memo_.valid = false;
  const CompiledPolicy* named = snapshot_->find(request.policy_id);
  if (!named)
    return std::unexpected(Error{ErrorCode::kPolicyNotFound,
                                 fmt::format("there is no policy \"{}\"", request.policy_id), "policy_id"});
  snapshot_->match_always(dimensions.tenant(), dimensions.resource(), KeyRollout(dimensions, parts_.clock),
                          matches_);
  std::erase(matches_.policies, named);
  matches_.policies.insert(matches_.policies.begin(), named);
  return {};
}

Result<void> Limiter::plan_policy(const CheckRequest& request, const Dimensions& dimensions,
                                  const CompiledPolicy& policy, bool count_skipped) {
  const std::int64_t cost = request.cost ? *request.cost : policy.cost_of(dimensions.resource());
  Plan& plan = plan_[policy.shadow];
  const std::span<const CompiledLimit> limits =
      policy.tiers.empty() ? policy.limits : policy.limits_for_tier(dimensions.tier());
  for (const CompiledLimit& limit : limits) {
    const auto key = counter_key(dimensions, limit, parts_.hasher);
    if (!key) [[unlikely]] {
      if (limit.required)
        return invalid("dimensions", fmt::format("limit \"{}\" of policy \"{}\" requires the dimensions {}",
                                                 limit.name, policy.source.id, fmt::join(limit.per, ", ")));
      if (count_skipped) counters_.add_dimension_missing(policy.index, limit.index);
      continue;
    }
    if (plan.size == kLimitsPerCheckMax)
      return invalid("", fmt::format("more than {} limits apply to this request; use fewer `always` policies",
                                     kLimitsPerCheckMax));
    Charge& charge = plan.charges[plan.size];
    charge.key = *key;
    charge.params = limit.params;
    charge.cost = cost;
    charge.on_denial = limit.count_denied ? OnDenial::kCharge : OnDenial::kFree;
    plan.limits[plan.size].policy = &policy;
    plan.limits[plan.size].limit = &limit;
    ++plan.size;
  }
  return {};
}

Result<void> Limiter::plan(const CheckRequest& request, bool count_skipped) {
  refresh_snapshot();
  plan_[kEnforced].size = plan_[kShadow].size = 0;
  if (auto valid = sluice::validate(request); !valid) return valid;
  const Dimensions dimensions(request);
  if (request.policy_id.empty())
    match_route(dimensions);
  else if (auto matched = match_named(request, dimensions); !matched)
    return matched;
  for (const CompiledPolicy* policy : matches_.policies)
    if (auto planned = plan_policy(request, dimensions, *policy, count_skipped); !planned) return planned;
  return {};
}

Limiter::Applied Limiter::apply(bool shadow, std::int64_t& now_us) {
  Plan& plan = plan_[shadow];
  if (plan.size == 0) return {};
  const Verdict verdict =
      parts_.store.apply({plan.charges.data(), plan.size}, {plan.results.data(), plan.size}, now_us);
  if (verdict != Verdict::kNoAnswer)
    for (std::size_t i = 0; i < plan.size; ++i) plan.limits[i].result = plan.results[i];
  return {verdict, {plan.limits.data(), plan.size}};
}

Decision Limiter::decide(const Applied& enforced, std::int64_t now_us) const {
  Decision decision;
  decision.now_us = now_us;
  decision.policy = matches_.policies.empty() ? nullptr : matches_.policies.front();
  if (enforced.limits.empty()) {
    decision.reason = decision.policy ? Reason::kNoLimit : Reason::kNoPolicy;
    return decision;
  }
  decision.cost = plan_[kEnforced].charges.front().cost;
  if (enforced.verdict == Verdict::kNoAnswer) {
    decision.policy = enforced.limits.front().policy;
    decision.allowed = allowed_without_store(enforced.limits);
    decision.degraded = true;
    decision.reason = Reason::kStoreUnavailable;
    return decision;
  }
  decision.allowed = enforced.verdict == Verdict::kAllowed;
  decision.limits = enforced.limits;
  decision.tightest = tightest_of(enforced.limits, !decision.allowed);
  decision.policy = decision.tightest->policy;
  if (!decision.allowed)
    decision.reason =
        decision.tightest->result.outcome.retry_after_us == kNever ? Reason::kTooLarge : Reason::kLimited;
  return decision;
}

void Limiter::add_shadow(const Applied& shadow, Decision& decision) {
  if (shadow.limits.empty()) return;
  const bool denied = shadow.verdict == Verdict::kDenied;
  if (!decision.tightest && !decision.degraded) {  // only shadow policies apply: show what they see
    decision.reason = denied ? Reason::kShadow : Reason::kOk;
    decision.limits = shadow.limits;
    decision.tightest = tightest_of(shadow.limits, denied);
    decision.policy = decision.tightest->policy;
    decision.cost = plan_[kShadow].charges.front().cost;
  } else if (denied && decision.reason == Reason::kOk) {
    decision.reason = Reason::kShadow;
  }
}

void Limiter::count(const Applied& enforced, const Decision& decision) {
  if (!decision.policy) return counters_.add_no_policy();
  const CompiledPolicy* last = nullptr;
  for (std::size_t i = 0; i < enforced.limits.size(); ++i) {
    const CompiledPolicy* policy = enforced.limits[i].policy;
    if (policy == last) continue;  // the limits of a policy stand side by side
    last = policy;
    if (decision.degraded) counters_.add(policy->index, DecisionCounters::kFailed);
    if (decision.allowed) {
      counters_.add(policy->index, DecisionCounters::kAllowed);
      if (!decision.degraded)
        counters_.add(policy->index, DecisionCounters::kUnitsConsumed,
                      static_cast<std::uint64_t>(plan_[kEnforced].charges[i].cost));
    }
  }
  if (!decision.allowed) counters_.add(decision.policy->index, DecisionCounters::kDenied);
  if (enforced.limits.empty()) counters_.add(decision.policy->index, DecisionCounters::kAllowed);
}

Result<Decision> Limiter::check(const CheckRequest& request) {
  if (auto planned = plan(request, true); !planned) return std::unexpected(std::move(planned.error()));
  std::int64_t now_us = 0;
  const Applied enforced = apply(kEnforced, now_us);
  Decision decision = decide(enforced, now_us);
  const Applied shadow = apply(kShadow, now_us);
  if (shadow.verdict == Verdict::kDenied)
    counters_.add(tightest_of(shadow.limits, true)->policy->index, DecisionCounters::kShadowDenied);
  if (decision.now_us == 0) decision.now_us = now_us;
  add_shadow(shadow, decision);
  count(enforced, decision);
  return decision;
}

Result<void> Limiter::validate(const CheckRequest& request) { return plan(request, false); }

Result<Decision> Limiter::usage(const CheckRequest& request) {
  CheckRequest look = request;
  look.cost = 0;
  if (auto planned = plan(look, false); !planned) return std::unexpected(std::move(planned.error()));
  std::int64_t now_us = 0;
  const Applied enforced = apply(kEnforced, now_us);
  const Applied shadow = apply(kShadow, now_us);
  if (enforced.verdict == Verdict::kNoAnswer || shadow.verdict == Verdict::kNoAnswer)
    return std::unexpected(Error{ErrorCode::kUnavailable, "the store does not answer; try again", ""});
  Decision decision = decide(enforced, now_us);
  decision.now_us = now_us;
  add_shadow(shadow, decision);
  return decision;
}

Result<int> Limiter::reset(const CheckRequest& request) {
  if (auto planned = plan(request, false); !planned) return std::unexpected(std::move(planned.error()));
  std::vector<KeyHash> keys;
  for (const Plan& plan : plan_)
    for (std::size_t i = 0; i < plan.size; ++i) keys.push_back(plan.charges[i].key);
  const int existed = parts_.store.reset(keys);
  if (existed < 0)
    return std::unexpected(Error{ErrorCode::kUnavailable, "the store does not answer; try again", ""});
  return existed;
}

std::string_view to_string(Reason reason) {
  constexpr std::string_view kNames[] = {"ok",     "limited",           "never", "no_policy", "no_limit",
                                         "shadow", "store_unavailable", "switch"};
  return kNames[static_cast<std::size_t>(reason)];
}

std::string_view to_string(Pressure pressure) {
  constexpr std::string_view kNames[] = {"normal", "warning", "throttled"};
  return kNames[static_cast<std::size_t>(pressure)];
}

}  // namespace sluice

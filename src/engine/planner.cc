#include "engine/planner.h"

#include <fmt/format.h>

#include "engine/rollout.h"

namespace sluice {

Planner::Planner(const PolicyBoard& policies, const KeyHasher& hasher, const Clock& clock,
                 DecisionTotals& totals)
    : policies_(policies), hasher_(hasher), clock_(clock), counters_(totals) {
  load_snapshot();
}

void Planner::load_snapshot() {
  generation_ = policies_.generation();  // first: if a newer one comes in between, it is loaded next time
  snapshot_ = policies_.current();
  memo_.valid = false;
  counters_.rebind(snapshot_->numbers());
}

void Planner::match_route(const Dimensions& dimensions) {
  if (memo_.valid && dimensions.tenant() == memo_.tenant && dimensions.resource() == memo_.resource) return;
  snapshot_->match(dimensions.tenant(), dimensions.resource(), KeyRollout(dimensions, clock_), matches_);
  memo_.valid = !snapshot_->has_rollout();
  if (memo_.valid) {
    memo_.tenant = dimensions.tenant();
    memo_.resource = dimensions.resource();
  }
}

Result<void> Planner::match_named(const CheckRequest& request, const Dimensions& dimensions) {
  memo_.valid = false;
  const CompiledPolicy* named = snapshot_->find(request.policy_id);
  if (!named)
    return std::unexpected(Error{ErrorCode::kPolicyNotFound,
                                 fmt::format("there is no policy \"{}\"", request.policy_id), "policy_id"});
  snapshot_->match_always(dimensions.tenant(), dimensions.resource(), KeyRollout(dimensions, clock_),
                          matches_);
  std::erase(matches_.policies, named);
  matches_.policies.insert(matches_.policies.begin(), named);
  return {};
}

// What is agreed with the user instead of the policy's numbers. When that has expired, the counter may still
// be kept by it.
void Planner::take_own_numbers(const CompiledLimit& limit, Charge& charge, LimitStatus& status) const {
  const CompiledUser::Numbers* const own = user_->numbers_of(limit.name_hash);
  if (!own || own->params == limit.params) return;
  if (!own->holds_at(clock_.now_us())) {
    charge.previous = own->params;
    return;
  }
  charge.params = own->params;
  charge.previous = limit.params;
  status.numbers = own->numbers;
}

Result<void> Planner::plan_policy(const CheckRequest& request, const Dimensions& dimensions,
                                  const CompiledPolicy& policy, bool count_skipped) {
  const std::int64_t cost = request.cost ? *request.cost : policy.cost_of(dimensions.resource());
  Plan& plan = plans_[policy.shadow];
  const std::span<const CompiledLimit> limits =
      policy.tiers.empty() ? policy.limits : policy.limits_for_tier(tier_);
  for (const CompiledLimit& limit : limits) {
    const auto key = counter_key(dimensions, limit, hasher_);
    if (!key) [[unlikely]] {
      if (limit.required)
        return invalid("dimensions",
                       fmt::format("limit \"{}\" of policy \"{}\" requires the dimensions {}", limit.name(),
                                   policy.source.id, fmt::join(limit.per(), ", ")));
      if (count_skipped) counters_.add_dimension_missing(policy, limit);
      continue;
    }
    if (plan.size == kLimitsPerCheckMax)
      return invalid("", fmt::format("more than {} limits apply to this request; use fewer `always` policies",
                                     kLimitsPerCheckMax));
    Charge& charge = plan.charges[plan.size];
    charge.key = *key;
    charge.params = limit.params;
    charge.previous = limit.previous;
    charge.cost = cost;
    charge.on_denial = limit.count_denied ? OnDenial::kCharge : OnDenial::kFree;
    plan.limits[plan.size].policy = &policy;
    plan.limits[plan.size].limit = &limit;
    plan.limits[plan.size].numbers = limit.numbers;
    if (user_) take_own_numbers(limit, charge, plan.limits[plan.size]);
    ++plan.size;
  }
  return {};
}

Result<void> Planner::plan(const CheckRequest& request, bool count_skipped) {
  refresh_snapshot();
  enforced().size = shadow().size = 0;
  if (auto valid = validate(request); !valid) return valid;
  const Dimensions dimensions(request);
  user_ = snapshot_->users().empty() ? nullptr : snapshot_->find_user(dimensions.user());
  tier_ = user_ && !user_->source.tier.empty() ? std::string_view(user_->source.tier) : dimensions.tier();
  if (request.policy_id.empty())
    match_route(dimensions);
  else if (auto matched = match_named(request, dimensions); !matched)
    return matched;
  for (const CompiledPolicy* policy : matches_.policies)
    if (auto planned = plan_policy(request, dimensions, *policy, count_skipped); !planned) return planned;
  return {};
}

}  // namespace sluice

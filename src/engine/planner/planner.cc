#include "engine/planner/planner.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "base/try.h"
#include "engine/planner/rollout.h"
#include "engine/planner/slot_tag.h"

namespace sluice {
namespace {

[[gnu::cold, gnu::noinline]] std::unexpected<Error> dimension_required(const CompiledPolicy& policy,
                                                                       const CompiledLimit& limit) {
  return invalid("dimensions", fmt::format("limit \"{}\" of policy \"{}\" requires the dimensions {}",
                                           limit.name(), policy.source.id, fmt::join(limit.per(), ", ")));
}

[[gnu::cold, gnu::noinline]] std::unexpected<Error> key_missing(const CompiledPolicy& policy,
                                                                const CompiledLimit& limit) {
  return invalid("key", fmt::format("key is missing; limit \"{}\" of policy \"{}\" counts by it",
                                    limit.name(), policy.source.id));
}

[[gnu::cold, gnu::noinline]] std::unexpected<Error> too_many_limits() {
  return invalid("", fmt::format("more than {} limits apply to this request; use fewer `always` policies, or "
                                 "send fewer checks at a time",
                                 kLimitsPerCheckMax));
}

Error policy_not_found(std::string_view id, std::string_view tenant) {
  std::string message = fmt::format("there is no policy \"{}\"", id);
  if (!tenant.empty()) message += fmt::format(" for the tenant \"{}\"", tenant);
  return {ErrorCode::kPolicyNotFound, std::move(message), "policy_id"};
}

}  // namespace

Planner::Planner(const Parts& parts)
    : policies_(parts.policies.in_force()),
      hasher_(parts.hasher),
      clock_(parts.clock),
      store_(parts.store),
      default_tenant_(parts.default_tenant),
      places_(parts.places),
      counters_(parts.totals) {
  refresh_snapshot();
}

[[gnu::noinline]] void Planner::take(const PoliciesInForce& newest) {
  in_force_ = &newest;
  snapshot_ = newest.snapshot;
  routes_.forget_all();
  named_.forget_all();
  lasting_.forget_all();
  counters_.rebind(snapshot_->policy_indexes());
}

void Planner::match_route(const Dimensions& dimensions) {
  const std::string_view tenant = dimensions.tenant(), resource = dimensions.resource();
  RouteCache::Entry& entry = routes_.entry_of(tenant, resource);
  matches_ = &entry.matches;
  if (entry.holds(tenant, resource)) [[likely]]
    return;
  snapshot_->match(tenant, resource, KeyRollout(dimensions, clock_), entry.matches);
  if (snapshot_->has_rollout())
    entry.forget();  // the next key of this route may match other policies
  else
    entry.keep(tenant, resource);
}

// Whether the policy has no effect on this request, not even a missing dimension.
bool Planner::is_silent(const CompiledPolicy& policy, const Dimensions& dimensions) {
  const bool is_new = policy.candidate && candidate_decides(policy, dimensions);
  const CompiledPolicy& decides = is_new ? policy.candidate->policy() : policy;
  return std::ranges::none_of(limits_of(decides, dimensions), [&](const CompiledLimit& of_request) {
    const CompiledLimit& limit = in_agreed_tier(decides, of_request, dimensions);
    if (limit.is_none && !override_of(limit, dimensions)) return false;
    return limit.required || has_dimensions_of(limit, dimensions);
  });
}

// Replaces a specific policy that is silent by the next one that is not. If all are silent, it stays.
[[gnu::noinline]] void Planner::pass_over_silent(const Dimensions& dimensions) {
  const CompiledPolicy* const first = first_policy();
  if (!first || first->source.always || !is_silent(*first, dimensions)) return;
  own_.policies = matches_->policies;
  matches_ = &own_;
  const KeyRollout rollout(dimensions, clock_);
  snapshot_->visit_specific(dimensions.tenant(), dimensions.resource(), [&](const CompiledPolicy& policy) {
    if ((policy.has_rollout && !rollout.applies(policy)) || is_silent(policy, dimensions)) return false;
    own_.policies.front() = &policy;
    return true;
  });
}

// The matches are not cached if there are `always` policies: the next resource may match others. If the
// request has no tenant, the tenant of the policy applies. Otherwise limits that count by tenant would be
// skipped, and a caller that omits the tenant would be unlimited.
Result<void> Planner::match_named(const CheckRequest& request, Dimensions& dimensions) {
  const std::string_view tenant = dimensions.tenant(), id = request.policy_id;
  if (request.policy_id_lasts) {
    LastingIdCache::Entry& entry = lasting_.entry_of(id.data());
    if (entry.id != id.data()) [[unlikely]] {
      entry.id = nullptr;
      SLUICE_TRY(find_named(request, dimensions, entry.matches));
      if (!snapshot_->has_always()) entry.id = id.data();
    }
    matches_ = &entry.matches;
    if (tenant.empty()) dimensions.imply_tenant(implied_tenant(first_policy()));
    return {};
  }
  RouteCache::Entry& entry = named_.entry_of(tenant, id);
  if (!entry.holds(tenant, id)) {
    entry.forget();
    SLUICE_TRY(find_named(request, dimensions, entry.matches));
    if (!snapshot_->has_always()) entry.keep(tenant, id);
  }
  matches_ = &entry.matches;
  if (tenant.empty()) dimensions.imply_tenant(implied_tenant(first_policy()));
  return {};
}

// It may be one of the policies that are not known yet; policies for every request are known.
[[gnu::cold]] Result<void> Planner::find_unknown(const CheckRequest& request, const Dimensions& dimensions,
                                                 Matches& out) const {
  if (unmatched() == Unmatched::kNoPolicy)
    return std::unexpected(policy_not_found(request.policy_id, dimensions.tenant()));
  snapshot_->match_always(dimensions.tenant(), dimensions.resource(), KeyRollout(dimensions, clock_), out);
  return {};
}

[[gnu::noinline]] Result<void> Planner::find_named(const CheckRequest& request, Dimensions dimensions,
                                                   Matches& out) const {
  const CompiledPolicy* const named = snapshot_->find(request.policy_id);
  // A policy of one tenant does not exist for another, whoever names it: the error is the same as for an
  // unknown policy.
  const std::string_view tenant = dimensions.tenant();
  if (!named || (!tenant.empty() && !named->source.tenant.empty() && named->source.tenant != tenant))
    return find_unknown(request, dimensions, out);
  if (tenant.empty()) dimensions.imply_tenant(implied_tenant(named));
  snapshot_->match_always(dimensions.tenant(), dimensions.resource(), KeyRollout(dimensions, clock_), out);
  std::erase(out.policies, named);
  out.policies.insert(out.policies.begin(), named);
  return {};
}

[[gnu::noinline]] void Planner::match_own_policy(const CheckRequest& request, const Dimensions& dimensions) {
  if (request.own_with_always) {
    snapshot_->match_always(dimensions.tenant(), dimensions.resource(), KeyRollout(dimensions, clock_), own_);
  } else {
    own_.policies.clear();
  }
  own_.policies.insert(own_.policies.begin(), request.own_policy);
  matches_ = &own_;
}

[[gnu::noinline]] const CompiledLimit& Planner::find_agreed_tier(const CompiledPolicy& policy,
                                                                 const CompiledLimit& limit,
                                                                 const Dimensions& dimensions) {
  const CompiledUser* const agreed = agreements_.of(limit, dimensions);
  // NOLINTNEXTLINE(bugprone-return-const-ref-from-parameter): a limit of the snapshot, never a temporary
  if (!agreed || agreed->source.tier.empty()) return limit;
  return policy.limits_for_tier(agreed->source.tier)[limit.index];  // all tiers have the same limits
}

[[gnu::noinline]] const CompiledUser::Numbers* Planner::override_of(const CompiledLimit& limit,
                                                                    const Dimensions& dimensions) {
  const CompiledUser* const agreed = agreements_.any() ? agreements_.of(limit, dimensions) : nullptr;
  const CompiledUser::Numbers* const own = agreed ? agreed->numbers_of(limit.name_hash) : nullptr;
  return own && own->holds_at(clock_.now_us()) ? own : nullptr;
}

// Applies the numbers of an override instead of the policy's.
[[gnu::noinline]] void Planner::apply_override(const Dimensions& dimensions, Charge& charge,
                                               LimitStatus& status) {
  const CompiledUser::Numbers* const own = override_of(*status.limit, dimensions);
  if (!own) return;
  charge.params = own->params;
  status.numbers = own->numbers;
}

// Counters of one tenant live together and move together, so that a check on several of them is one step on
// one node of a Cluster. Counters without a tenant are spread by what they count; together they would be too
// much for one node.
[[gnu::noinline]] std::uint32_t Planner::slot_tag(const Dimensions& dimensions, const CompiledPolicy& policy,
                                                  const CompiledLimit& limit, const KeyHash& key) const {
  if (limit.by_tenant)
    return slot_tag_of_tenant(policy.source.tenant.empty() ? dimensions.tenant() : policy.source.tenant,
                              hasher_);
  return slot_tag_of(limit.slot_key ? values_key(dimensions, *limit.slot_key, hasher_) : key);
}

Result<void> Planner::plan_policy(const CheckRequest& request, const Dimensions& dimensions,
                                  const CompiledPolicy& policy, Plan& plan, bool count_skipped) {
  const std::int64_t cost = request.cost ? *request.cost : policy.cost_of(dimensions.resource());
  for (const CompiledLimit& of_request : limits_of(policy, dimensions)) {
    const CompiledLimit& limit = in_agreed_tier(policy, of_request, dimensions);
    if (limit.is_none && !override_of(limit, dimensions)) [[unlikely]]
      continue;
    const auto key = counter_key(dimensions, limit, hasher_);
    if (!key) [[unlikely]] {
      if (limit.required) return dimension_required(policy, limit);
      if (request.needs_key && dimensions.lack_key_of(limit, request.policy_id.empty()))
        return key_missing(policy, limit);
      if (count_skipped) counters_.add_dimension_missing(policy, limit);
      continue;
    }
    store_.prefetch(*key);  // the slot is fetched while the rest is prepared
    if (plan.size == kLimitsPerCheckMax) [[unlikely]]
      return too_many_limits();
    Charge& charge = plan.charges[plan.size];
    charge.key = *key;
    charge.params = limit.params;
    charge.cost = cost;
    charge.on_denial = limit.count_denied ? OnDenial::kCharge : OnDenial::kFree;
    charge.passes_without_room = policy.source.on_failure == OnFailure::kOpen;
    if (places_) charge.slot_tag = slot_tag(dimensions, policy, limit, *key);
    LimitStatus& status = plan.limits[plan.size];
    status = {
        .policy = &policy, .limit = &limit, .numbers = limit.numbers, .result = &plan.results[plan.size]};
    if (agreements_.any()) [[unlikely]]
      apply_override(dimensions, charge, status);
    ++plan.size;
  }
  return {};
}

// The policy, or its candidate if that decides for this key. If the policy decides, the candidate is planned
// for comparison; if it cannot be planned, there is no comparison.
[[gnu::noinline]] const CompiledPolicy* Planner::version_for(const CheckRequest& request,
                                                             const Dimensions& dimensions,
                                                             const CompiledPolicy* policy, Purpose purpose) {
  const CompiledCandidate& candidate = *policy->candidate;
  if (candidate_decides(*policy, dimensions)) return &candidate.policy();
  if (const CompiledPolicy* compared = purpose == Purpose::kLook ? nullptr : candidate.comparison()) {
    const std::size_t before = comparison().size;
    if (!plan_policy(request, dimensions, *compared, comparison(), false)) comparison().size = before;
  }
  return policy;
}

void Planner::take_given_numbers(const CheckRequest& request, std::size_t first) {
  Plan& plan = enforced();
  const std::string_view named = request.own_policy ? request.own_policy->name() : request.policy_id;
  for (std::size_t i = first; i < plan.size; ++i) {
    if (plan.limits[i].policy->name() != named) continue;
    plan.charges[i].params = request.numbers.params;
    plan.limits[i].numbers = request.numbers.numbers;
  }
}

// Flattened like Engine::begin(): rare cases are kept out.
[[gnu::flatten]] Result<void> Planner::plan(const CheckRequest& request, Purpose purpose) {
  clear();
  auto planned = add(request, purpose);
  if (request.own_policy) [[unlikely]]
    finish_own_policy(request);
  return planned;
}

// Applies the policy and numbers that come with a request.
[[gnu::noinline]] void Planner::finish_own_policy(const CheckRequest& request) {
  if (request.numbers.params != 0) take_given_numbers(request, 0);
  if (!request.own_by_tenant) return;
  char name[sizeof(KeyHash) + kKeyBytesMax];
  const std::size_t size = request.tenant.copy(name + sizeof(KeyHash), kKeyBytesMax);
  for (Plan& plan : plans_)
    for (std::size_t i = 0; i < plan.size; ++i) {
      if (plan.limits[i].policy->name() != request.own_policy->name()) continue;
      std::memcpy(name, &plan.charges[i].key, sizeof(KeyHash));
      plan.charges[i].key = hasher_({name, sizeof(KeyHash) + size});
    }
}

[[gnu::flatten]] Result<void> Planner::add(const CheckRequest& request, Purpose purpose) {
  SLUICE_TRY(validate(request));
  Dimensions dimensions(request);
  agreements_.begin(*snapshot_);
  if (request.own_policy) [[unlikely]]
    match_own_policy(request, dimensions);
  else if (request.policy_id.empty()) {
    if (dimensions.tenant().empty()) dimensions.imply_tenant(default_tenant_);
    match_route(dimensions);
    if (request.wants_a_limit) [[unlikely]]
      pass_over_silent(dimensions);
  } else {
    SLUICE_TRY(match_named(request, dimensions));
  }
  tier_ = agreements_.any() ? agreements_.tier_of(first_policy(), dimensions) : dimensions.tier();
  if (request.own_policy && !request.own_with_always) [[unlikely]]
    agreements_.skip();
  for (const CompiledPolicy* policy : matches_->policies) {
    if (policy->candidate) [[unlikely]]
      policy = version_for(request, dimensions, policy, purpose);
    Plan& plan = policy->shadow ? shadow() : enforced();
    SLUICE_TRY(plan_policy(request, dimensions, *policy, plan, purpose == Purpose::kCheck));
  }
  return {};
}

}  // namespace sluice

#include "admin/users/user_limits.h"

#include <algorithm>

#include "admin/policies/policy_views.h"
#include "admin/routes.h"
#include "base/arith.h"
#include "base/limits.h"
#include "base/time_units.h"
#include "base/try.h"
#include "document/document_builder.h"
#include "document/literals.h"
#include "engine/planner/rollout.h"

namespace sluice::admin {
namespace {

// The user whose limits are requested.
struct Asked {
  User user;
  std::string_view tenant;  // from the query; empty: not given
};

// The current tier and overrides of the user.
User current_user(AdminContext& context, const std::string& id) {
  const auto snapshot = context.catalog.current();
  const CompiledUser* const known = snapshot->find_user(id);
  return known ? known->source : User{.id = id, .tier = "", .overrides = {}};
}

// How a policy applies to one user now.
struct Standing {
  const CompiledPolicy* version = nullptr;  // the version that decides: the one in force or its candidate
  std::optional<bool> applies;              // absent: depends on more than the user
};

// Evaluates the policy for this user with what is known: the id, and the tenant if the query or the policy
// names it. Rollout shares that depend on anything else cannot be determined.
Standing standing_of(const CompiledPolicy& policy, const Asked& asked, const Clock& clock) {
  const CheckRequest request{.tenant = policy.source.tenant.empty() ? asked.tenant : policy.source.tenant,
                             .key = asked.user.id};
  const Dimensions dimensions(request);
  const Rollout& rollout = policy.source.rollout;
  const bool is_shared_out = rollout.percent < 100 || (policy.candidate && policy.candidate->percent() > 0 &&
                                                       policy.candidate->percent() < 100);
  Standing standing;
  standing.version =
      policy.candidate && candidate_decides(policy, dimensions) ? &policy.candidate->policy() : &policy;
  if (clock.now_us() < rollout.valid_from_us)
    standing.applies = false;
  else if (!is_shared_out || can_be_shared_out(policy, dimensions))
    standing.applies = !policy.has_rollout || KeyRollout(dimensions, clock).applies(policy);
  return standing;
}

struct Numbers {
  const LimitParams& params;
  std::string source;
  std::int64_t expires_us = 0;
};

// One limit as it applies to the user.
DocumentNode limit_view(const CompiledPolicy& policy, const Standing& standing, const Limit& limit,
                        const Numbers& numbers) {
  const Policy& source = standing.version->source;
  DocumentNode view = map_node();
  put(view, "policy_id", text_node(source.id));
  put(view, "limit_name", text_node(limit.name));
  put(view, "tenant_id", text_node(source.tenant.empty() ? "*" : source.tenant));
  put(view, "resource", text_node(source.resource.empty() ? "*" : source.resource));
  put(view, "per", text_list(*limit.per));
  put(view, "limit", number_node(numbers.params.rate.count));
  put(view, "window_seconds", number_node(ceil_div(numbers.params.rate.period_us, kSecondUs)));
  put(view, "rate", text_node(rate_text(numbers.params.rate)));
  put(view, "burst", number_node(numbers.params.capacity));
  put(view, "algorithm", text_node(to_string(numbers.params.algorithm)));
  put(view, "source", text_node(numbers.source));
  if (numbers.expires_us != 0) put(view, "expires_at", text_node(instant_text(numbers.expires_us)));
  put(view, "applies", standing.applies ? truth_node(*standing.applies) : null_node());
  put(view, "shadow", truth_node(source.shadow));
  if (source.rollout.percent < 100) put(view, "percent", number_node(source.rollout.percent));
  if (source.rollout.valid_from_us != 0)
    put(view, "valid_from", text_node(instant_text(source.rollout.valid_from_us)));
  if (policy.candidate) put(view, "candidate_percent", number_node(policy.candidate->percent()));
  return view;
}

void add_limits(const CompiledPolicy& policy, const Asked& asked, const Clock& clock, DocumentNode& list) {
  const Standing standing = standing_of(policy, asked, clock);
  const Policy& source = standing.version->source;
  const User& user = asked.user;
  const std::string of_candidate = standing.version == &policy ? "" : "candidate of " + policy.version_text();
  const auto tier = source.tiers.find(user.tier);
  const bool has_tier = !user.tier.empty() && tier != source.tiers.end();
  const std::vector<Limit>& limits = has_tier ? tier->second : source.limits;
  for (std::size_t i = 0; i < limits.size(); ++i) {
    if (!counts_users(limits[i])) continue;
    const auto own = std::ranges::find_if(user.overrides, [&](const Override& each) {
      return each.policy_id == source.id && each.limit == limits[i].name &&
             (each.expires_us == 0 || clock.now_us() < each.expires_us);
    });
    if (own != user.overrides.end()) {
      list.items.push_back(
          limit_view(policy, standing, limits[i], {own->params, "override", own->expires_us}));
      continue;
    }
    if (is_no_limit(limits[i].params)) continue;
    std::string from = of_candidate.empty() ? "policy" : of_candidate;
    if (has_tier && limits[i].params != source.limits[i].params)
      from = "tier " + user.tier + (of_candidate.empty() ? "" : ", " + of_candidate);
    list.items.push_back(limit_view(policy, standing, limits[i], {limits[i].params, std::move(from)}));
  }
}

}  // namespace

bool counts_users(const Limit& limit) {
  return std::ranges::any_of(*limit.per,
                             [](const std::string& name) { return name == "user" || name == "key"; });
}

bool sees_tier(AdminContext& context, const AdminCall& call, const std::string& tier) {
  if (call.principal.sees_tenant("")) return true;
  bool is_seen = false;
  context.catalog.current()->policies().for_each([&](const PolicyPointer& policy) {
    is_seen = is_seen || (call.principal.sees_tenant(policy->source.tenant) &&
                          policy->source.tiers.find(tier) != policy->source.tiers.end());
  });
  return is_seen;
}

Result<void> check_user_id(const std::string& id) {
  if (id.size() > kKeyBytesMax)
    return invalid("user_id", "a user id has at most " + std::to_string(kKeyBytesMax) + " bytes");
  const auto is_control = [](unsigned char byte) { return byte < 0x20 || byte == 0x7f; };
  if (std::ranges::any_of(id, is_control))
    return invalid("user_id", "a user id must not contain control characters");
  return {};
}

Result<AdminAnswer> list_user_limits(AdminContext& context, const AdminCall& call) {
  SLUICE_TRY(check_user_id(call.path[3]));
  const std::string_view tenant = call.parameter("tenant_id"), policy_id = call.parameter("policy_id");
  const PolicyPage page = SLUICE_TRY(page_of_policies(context, call, [&](const CompiledPolicy& policy) {
    if (!policy_id.empty() && policy.source.id != policy_id) return false;
    if (!tenant.empty() && !policy.source.tenant.empty() && policy.source.tenant != tenant) return false;
    return std::ranges::any_of(policy.source.limits, counts_users) ||
           (policy.candidate && std::ranges::any_of(policy.candidate->policy().source.limits, counts_users));
  }));
  const Asked asked{current_user(context, call.path[3]), tenant};
  DocumentNode list = list_node();
  for (const PolicyPointer& policy : page.policies) add_limits(*policy, asked, context.clock, list);
  AdminAnswer answer;
  answer.body = map_node();
  put(answer.body, "user_id", text_node(asked.user.id));
  const bool has_tier = !asked.user.tier.empty() && sees_tier(context, call, asked.user.tier);
  put(answer.body, "tier", has_tier ? text_node(asked.user.tier) : null_node());
  put(answer.body, "limits", std::move(list));
  put(answer.body, "next", page.next.empty() ? null_node() : text_node(page.next));
  return answer;
}

}  // namespace sluice::admin

#include "policy/snapshot/snapshot.h"

#include "policy/matching/tenant_policies.h"

namespace sluice {
namespace {

bool applies(const CompiledPolicy& policy, const RolloutFilter& filter) {
  return !policy.has_rollout || filter.applies(policy);
}

}  // namespace

const CompiledPolicy* Snapshot::find(std::string_view id) const { return by_id_.find(id); }
const CompiledUser* Snapshot::find_user(std::string_view id) const { return users_.find(id); }

bool Snapshot::knows_tier(std::string_view tenant, std::string_view tier) const {
  const TenantPolicies* const own = of_tenant(tenant);
  return (own && own->knows_tier(tier)) || (any_tenant_ && any_tenant_->knows_tier(tier));
}

const EnvoyLookup* Snapshot::find_envoy_domain(std::string_view name) const {
  if (!envoy_domains_) return nullptr;
  const auto found = envoy_domains_->find(name);
  return found == envoy_domains_->end() ? nullptr : found->second.get();
}

const CompiledPolicy* Snapshot::first_multi_rate_entry(std::string_view domain) const {
  if (multi_rate_firsts_)
    if (const auto found = multi_rate_firsts_->find(domain); found != multi_rate_firsts_->end())
      return find(found->second);
  const TenantPolicies* const own = of_tenant(domain);
  return own ? own->first_multi_rate_entry() : nullptr;
}

const TenantPolicies* Snapshot::of_tenant(std::string_view tenant) const {
  return tenant.empty() ? nullptr : tenants_.find(tenant);
}

template <class Take>
void Snapshot::visit_specific_of(const TenantPolicies* own, std::string_view resource,
                                 const Take& take) const {
  const bool found = own && own->specific().visit(resource, take);
  if (!found && any_tenant_) any_tenant_->specific().visit(resource, take);
}

void Snapshot::visit_specific(std::string_view tenant, std::string_view resource,
                              const std::function<bool(const CompiledPolicy&)>& take) const {
  visit_specific_of(of_tenant(tenant), resource, take);
}

void Snapshot::match(std::string_view tenant, std::string_view resource, const RolloutFilter& filter,
                     Matches& out) const {
  out.policies.clear();
  const auto take = [&](const CompiledPolicy& policy) {
    if (!applies(policy, filter)) return false;
    out.policies.push_back(&policy);
    return true;
  };
  const TenantPolicies* const own = of_tenant(tenant);
  visit_specific_of(own, resource, take);
  if (always_ > 0) add_always(own, resource, filter, out);
}

void Snapshot::match_always(std::string_view tenant, std::string_view resource, const RolloutFilter& filter,
                            Matches& out) const {
  out.policies.clear();
  if (always_ > 0) add_always(of_tenant(tenant), resource, filter, out);
}

void Snapshot::add_always(const TenantPolicies* own, std::string_view resource, const RolloutFilter& filter,
                          Matches& out) const {
  const auto add = [&](const CompiledPolicy& policy) {
    if (applies(policy, filter)) out.policies.push_back(&policy);
    return false;
  };
  for (const TenantPolicies* each : {own, any_tenant_.get()})
    if (each) each->always().visit(resource, add);
}

}  // namespace sluice

#include "doors/envoy/envoy_quota.h"

namespace sluice::doors {

QuotaLook::QuotaLook(const std::vector<PlannedDescriptor>& planned, std::span<const CheckRequest> checks) {
  for (std::size_t i = 0; i < planned.size(); ++i) {
    if (planned[i].kind != PlannedDescriptor::Kind::kRule || !planned[i].rule->quota || planned[i].gives_back)
      continue;
    CheckRequest look = checks[planned[i].check];
    quotas_.push_back({i, planned[i].rule, look.fits_nowhere ? kCostNever : look.cost.value_or(1)});
    look.cost = 0;
    look.fits_nowhere = false;
    looks_.push_back(look);
  }
}

const LimitStatus* QuotaLook::full_limit(const Quota& quota, const Decision& level) {
  const LimitStatus* own = nullptr;
  for (const LimitStatus& limit : level.limits) {
    const Outcome& look = limit.result->outcome;
    if (limit.policy->shadow || (look.allowed && look.remaining >= quota.cost)) continue;
    if (limit.policy->source.id != quota.rule->policy_id) return nullptr;
    own = &limit;
  }
  return own;
}

std::vector<FullQuota> QuotaLook::full(const Result<JointDecision>& looked, DoorEngine& engine) const {
  std::vector<FullQuota> full;
  std::vector<const CompiledPolicy*> policies;
  if (!looked) return full;
  for (std::size_t i = 0; i < quotas_.size(); ++i) {
    const Decision& level = looked->parts[i];
    const LimitStatus* const limit = full_limit(quotas_[i], level);
    if (!limit) continue;
    full.push_back({quotas_[i].descriptor, status_of_full(*limit, level)});
    policies.push_back(limit->policy);
  }
  if (full.size() == quotas_.size()) return {};
  for (const CompiledPolicy* const policy : policies) engine.count_denied(*policy);
  return full;
}

void mark_full(std::span<const FullQuota> full, std::vector<PlannedDescriptor>& planned) {
  for (const FullQuota& each : full) {
    PlannedDescriptor& descriptor = planned[each.descriptor];
    if (descriptor.kind != PlannedDescriptor::Kind::kRule || !descriptor.rule->quota) continue;
    descriptor.kind = PlannedDescriptor::Kind::kLetThrough;
    descriptor.is_full = true;
  }
}

void fill_full_statuses(std::span<const FullQuota> full, const std::vector<PlannedDescriptor>& planned,
                        std::vector<EnvoyStatus>& statuses) {
  for (const FullQuota& each : full) {
    if (!planned[each.descriptor].is_full) continue;
    statuses[each.descriptor] = each.status;
    statuses[each.descriptor].name = planned[each.descriptor].rule->name;
  }
}

}  // namespace sluice::doors

#include "doors/envoy_quota.h"

#include <algorithm>

namespace sluice::doors {

QuotaLook::QuotaLook(const std::vector<EnvoySlot>& slots, std::span<const CheckRequest> checks) {
  for (std::size_t i = 0; i < slots.size(); ++i) {
    if (slots[i].kind != EnvoySlot::Kind::kRule || !slots[i].rule->quota) continue;
    CheckRequest look = checks[slots[i].check];
    quotas_.push_back({i, slots[i].rule, look.cost.value_or(1)});
    look.cost = 0;
    looks_.push_back(look);
  }
}

bool QuotaLook::is_full(const Quota& quota, const Decision& level) {
  bool own_is_full = false;
  for (const LimitStatus& limit : level.limits) {
    if (limit.policy->shadow || limit.result->outcome.remaining >= quota.cost) continue;
    if (limit.policy->source.id != quota.rule->policy_id) return false;
    own_is_full = true;
  }
  return own_is_full;
}

std::vector<std::size_t> QuotaLook::full(const Result<JointDecision>& looked) const {
  std::vector<std::size_t> full;
  if (!looked || looked->overall.degraded) return full;
  for (std::size_t i = 0; i < quotas_.size(); ++i)
    if (is_full(quotas_[i], looked->parts[i])) full.push_back(quotas_[i].descriptor);
  if (full.size() == quotas_.size()) full.clear();
  return full;
}

}  // namespace sluice::doors

#include "policy/multi_rate/multi_rate_entry.h"

#include <algorithm>

#include "base/limits.h"

namespace sluice {
namespace {

bool is_multi_rate_rate(const Limit& limit) {
  return limit.params.algorithm == Algorithm::kLeakyBucket && limit.per->size() == 1 &&
         limit.per->front() == "key";
}

// id == multi_rate_policy_id(tenant, resource), without building that text.
bool has_multi_rate_id(const Policy& policy) {
  const std::string_view id = policy.id, domain = policy.tenant, prefix = policy.resource;
  if (prefix.empty()) return id == domain;
  return id.size() == domain.size() + 1 + prefix.size() && id.starts_with(domain) &&
         id[domain.size()] == ':' && id.ends_with(prefix);
}

}  // namespace

Policy multi_rate_built_in() {
  Policy policy;
  policy.id = "default (built in)";
  policy.limits.push_back(
      {.name = "rate",
       .per = {"key"},
       .params = make_limit_params(Algorithm::kLeakyBucket, {10, 1'000'000}, 100).value()});
  return policy;
}

bool is_multi_rate_entry(const Policy& policy) {
  return !policy.tenant.empty() && has_multi_rate_id(policy) &&
         std::ranges::all_of(policy.limits, is_multi_rate_rate);
}

const CompiledPolicy* find_multi_rate_entry(const Snapshot& snapshot, std::string_view domain,
                                            std::string_view limit_key, std::string& scratch) {
  const CompiledPolicy* const first = snapshot.first_multi_rate_entry(domain);
  if (!first) return nullptr;
  scratch.assign(domain).append(":").append(limit_key);  // begins with the id to look for
  std::size_t end = std::min(scratch.size(), kNameBytesMax + 1);
  while ((end = scratch.rfind(':', end - 1)) != std::string::npos && end > domain.size() + 1) {
    const CompiledPolicy* const entry = snapshot.find(std::string_view(scratch).substr(0, end));
    if (entry && entry->source.tenant == domain && is_multi_rate_entry(entry->source)) return entry;
  }
  return first;
}

}  // namespace sluice

#include "policy/multi_rate/multi_rate_config.h"

#include <algorithm>
#include <tuple>

#include "policy/multi_rate/multi_rate_entry.h"

namespace sluice {
namespace {

MultiRateDomain entry_of(const Policy& policy) {
  MultiRateDomain entry{policy.tenant, policy.resource, {}};
  for (const Limit& limit : policy.limits) {
    const Rate& rate = limit.params.rate;
    entry.rates.push_back({static_cast<double>(rate.count) * 1e6 / static_cast<double>(rate.period_us),
                           limit.params.capacity, limit.name});
  }
  return entry;
}

}  // namespace

std::vector<MultiRateDomain> multi_rate_config(const Snapshot& snapshot) {
  std::vector<MultiRateDomain> entries;
  snapshot.policies().for_each([&](const std::shared_ptr<const CompiledPolicy>& policy) {
    if (is_multi_rate_entry(policy->source)) entries.push_back(entry_of(policy->source));
  });
  if (entries.empty()) {
    entries.push_back(entry_of(multi_rate_built_in()));
    entries.back().domain = kMrDefaultDomain;
  }
  std::ranges::sort(entries, {},
                    [](const MultiRateDomain& entry) { return std::tie(entry.domain, entry.prefix_key); });
  return entries;
}

}  // namespace sluice

#include "policy/mr_config.h"

#include <algorithm>
#include <tuple>

#include "policy/mr_entry.h"

namespace sluice {
namespace {

MrDomain entry_of(const Policy& policy) {
  MrDomain entry{policy.tenant, policy.resource, {}};
  for (const Limit& limit : policy.limits) {
    const Rate& rate = limit.params.rate;
    entry.rates.push_back({static_cast<double>(rate.count) * 1e6 / static_cast<double>(rate.period_us),
                           limit.params.capacity, limit.name});
  }
  return entry;
}

}  // namespace

std::vector<MrDomain> mr_config(const Snapshot& snapshot) {
  std::vector<MrDomain> entries;
  snapshot.policies().for_each([&](const std::shared_ptr<const CompiledPolicy>& policy) {
    if (is_mr_entry(policy->source)) entries.push_back(entry_of(policy->source));
  });
  if (entries.empty()) {
    entries.push_back(entry_of(mr_built_in()));
    entries.back().domain = kMrDefaultDomain;
  }
  std::ranges::sort(entries, {},
                    [](const MrDomain& entry) { return std::tie(entry.domain, entry.prefix_key); });
  return entries;
}

}  // namespace sluice

#include "policy/snapshot/conflicts.h"

#include <map>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "policy/matching/pattern.h"

namespace sluice {

std::vector<Conflict> find_conflicts(const std::vector<const Policy*>& policies) {
  std::vector<Conflict> conflicts;
  std::unordered_map<std::string_view, std::size_t> by_id;
  std::map<std::pair<std::string_view, std::string>, std::size_t> by_place;
  for (std::size_t i = 0; i < policies.size(); ++i) {
    const Policy& policy = *policies[i];
    if (const auto [other, fresh] = by_id.try_emplace(policy.id, i); !fresh) {
      conflicts.push_back({other->second, i, "id", "the id \"" + policy.id + "\" is taken"});
      continue;
    }
    const auto pattern = parse_pattern(policy.resource);
    if (policy.always || !pattern) continue;
    const auto [other, fresh] = by_place.try_emplace({policy.tenant, pattern->canonical()}, i);
    if (fresh) continue;
    const Policy& first = *policies[other->second];
    conflicts.push_back(
        {other->second, i, "resource",
         "policies \"" + first.id + "\" and \"" + policy.id +
             "\" apply to the same tenant and resource; merge their limits into one policy, or set "
             "`always: true` on one of them"});
  }
  return conflicts;
}

}  // namespace sluice

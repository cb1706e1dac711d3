#include "policy/warnings/denies_everyone.h"

#include <algorithm>

#include "policy/matching/pattern.h"

namespace sluice {
namespace {

constexpr int kMostPercent = 50;

// Most resources are paths, so "/*" covers everyone.
bool is_any(const std::string& resource) {
  if (resource == "/*") return true;
  const auto pattern = parse_pattern(resource);
  return pattern && pattern->kind == Pattern::Kind::kAny;
}

// Resources that are not in the cost map cost 1, unless a pattern in the map covers everything.
std::int64_t least_cost(const Policy& policy) {
  std::int64_t least = 1;
  for (const auto& [resource, cost] : policy.costs)
    if (is_any(resource)) least = cost;
  for (const auto& [resource, cost] : policy.costs) least = std::min(least, cost);
  return least;
}

}  // namespace

bool denies_everyone(const Policy& policy) {
  if (!policy.tenant.empty() || !is_any(policy.resource) || policy.shadow ||
      policy.rollout.percent < kMostPercent)
    return false;
  const auto never_admits = [cost = least_cost(policy)](const std::vector<Limit>& limits) {
    return std::ranges::any_of(limits, [cost](const Limit& limit) {
      return limit.params.capacity == 0 || limit.params.capacity < cost;
    });
  };
  return never_admits(policy.limits) &&
         std::ranges::all_of(policy.tiers, [&](const auto& tier) { return never_admits(tier.second); });
}

void refuse_denying_everyone(const std::vector<WrittenPolicy>& policies, std::string_view how_to_confirm,
                             Problems& problems) {
  for (const WrittenPolicy& each : policies)
    if (denies_everyone(each.policy))
      problems.add({each.file, each.line, each.path,
                    "policy \"" + each.policy.id +
                        "\" would deny every request from every caller; if that is intended, " +
                        std::string(how_to_confirm)});
}

}  // namespace sluice

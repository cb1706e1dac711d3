#include "policy/crowds.h"

#include <algorithm>
#include <array>
#include <map>
#include <string_view>

#include "base/limits.h"
#include "policy/pattern.h"

namespace sluice {
namespace {

// The `always` policies of one tenant, or those for any tenant.
struct Group {
  std::size_t limits_anywhere = 0;                    // of policies with patterns or without a resource
  std::map<std::string_view, std::size_t> limits_at;  // of those with an exact resource, which never meet
  std::size_t fullest = 0;                            // the largest of limits_at
  std::size_t last = 0;                               // position of the group's last policy
  const Policy* largest = nullptr;
  const Policy* largest_exact = nullptr;

  std::size_t limits() const { return limits_anywhere + fullest; }

  void add(const Policy& policy, std::size_t position) {
    const auto pattern = parse_pattern(policy.resource);
    if (pattern && pattern->kind == Pattern::Kind::kExact) {
      fullest = std::max(fullest, limits_at[policy.resource] += policy.limits.size());
      largest_exact = larger(largest_exact, &policy);
    } else {
      limits_anywhere += policy.limits.size();
    }
    last = position;
    largest = larger(largest, &policy);
  }

  // What a request for one exact resource could add by naming the policy of another one.
  const Policy* largest_elsewhere() const { return limits_at.size() > 1 ? largest_exact : nullptr; }

  static const Policy* larger(const Policy* a, const Policy* b) {
    if (!a || !b) return a ? a : b;
    return a->limits.size() >= b->limits.size() ? a : b;
  }
};

using Groups = std::map<std::string_view, Group>;  // by tenant; "" is any

// The largest `always` policy of each of two tenants, the largest first. Whatever tenant a request has, one
// of the two is another tenant's, which the request could name.
using Rivals = std::array<const Policy*, 2>;

Rivals find_rivals(const Groups& groups) {
  Rivals rivals = {};
  for (const auto& [tenant, group] : groups) {
    if (tenant.empty()) continue;
    if (Group::larger(rivals[0], group.largest) == rivals[0])
      rivals[1] = Group::larger(rivals[1], group.largest);
    else
      rivals = {group.largest, rivals[0]};
  }
  return rivals;
}

const Policy* largest_of_others(const Rivals& rivals, std::string_view tenant) {
  return rivals[0] && rivals[0]->tenant == tenant ? rivals[1] : rivals[0];
}

std::string crowd_message(std::string_view tenant, std::size_t always, const Policy* beside) {
  std::string text = "up to " + std::to_string(always + (beside ? beside->limits.size() : 0)) +
                     " limits could apply to one request";
  if (!tenant.empty()) text += " of tenant \"" + std::string(tenant) + '"';
  text += ": " + std::to_string(always) + " of `always` policies";
  if (beside) text += " and " + std::to_string(beside->limits.size()) + " of policy \"" + beside->id + '"';
  return text + "; at most " + std::to_string(kLimitsPerCheckMax) +
         " may, so put fewer limits into `always` policies, or give them exact resources that differ";
}

void find_crowds_among(const std::vector<const Policy*>& policies, bool shadow, std::vector<Crowd>& out) {
  Groups groups;
  const Policy* specific = nullptr;
  for (std::size_t i = 0; i < policies.size(); ++i) {
    const Policy& policy = *policies[i];
    if (policy.shadow != shadow) continue;
    if (policy.always)
      groups[policy.tenant].add(policy, i);
    else
      specific = Group::larger(specific, &policy);
  }
  if (groups.empty()) return;

  const Rivals rivals = find_rivals(groups);
  const Group& any = groups[""];
  const auto check = [&](std::string_view tenant, const Group& group, std::size_t always, std::size_t last) {
    const Policy* beside = Group::larger(specific, largest_of_others(rivals, tenant));
    for (const Group* each : {&any, &group}) beside = Group::larger(beside, each->largest_elsewhere());
    const bool crowded = always + (beside ? beside->limits.size() : 0) > kLimitsPerCheckMax;
    if (crowded) out.push_back({last, crowd_message(tenant, always, beside)});
    return crowded;
  };
  if (any.limits() > 0 && check("", any, any.limits(), any.last)) return;
  for (const auto& [tenant, group] : groups)
    if (!tenant.empty()) check(tenant, group, any.limits() + group.limits(), std::max(any.last, group.last));
}

}  // namespace

std::vector<Crowd> find_crowds(const std::vector<const Policy*>& policies) {
  std::vector<Crowd> crowds;
  for (const bool shadow : {false, true}) find_crowds_among(policies, shadow, crowds);
  return crowds;
}

}  // namespace sluice

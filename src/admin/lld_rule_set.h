#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "policy/model.h"

namespace sluice::admin {

// One rule of /api/v1/rules. A plain value.
struct LldRule {
  std::string name;
  std::string dimension;         // as in a limit's `per`: "user", "ip", "api_key"
  std::string endpoint_pattern;  // empty: everything
  std::string tier;              // empty: for everybody
  LimitParams params;
  friend bool operator==(const LldRule&, const LldRule&) = default;
};

// The name that a rule has in its policy: limit and tier.
struct LldRuleName {
  std::string policy_id;
  std::string limit;
  std::string tier;

  std::string id() const { return policy_id + '~' + limit + (tier.empty() ? "" : '~' + tier); }
  static std::optional<LldRuleName> from(std::string_view id);
};
std::string lld_policy_id(std::string_view endpoint_pattern);

// The rules that a policy consists of, and the changes of one: pure functions over the policy.
std::vector<LldRule> rules_in(const Policy& policy);
std::optional<LldRule> find_rule(const Policy& policy, const LldRuleName& name);
// Adds it, or replaces the one of the same name. REQUIRES: the policy is that of its pattern.
void put_rule(Policy& policy, const LldRule& rule);
// What is left may have no limits at all; then the policy goes, too.
void take_rule(Policy& policy, const LldRuleName& name);

}  // namespace sluice::admin

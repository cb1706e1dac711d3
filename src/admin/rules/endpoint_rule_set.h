#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "policy/model.h"

namespace sluice::admin {

// One rule of /api/v1/rules. A plain value.
struct EndpointRule {
  std::string name;
  std::string dimension;         // as in a limit's `per`: "user", "ip", "api_key"
  std::string endpoint_pattern;  // empty: everything
  std::string tier;              // empty: every tier
  LimitParams params;
  friend bool operator==(const EndpointRule&, const EndpointRule&) = default;
};

// The name of a rule in its policy: limit and tier.
struct EndpointRuleName {
  std::string policy_id;
  std::string limit;
  std::string tier;

  std::string id() const { return policy_id + '~' + limit + (tier.empty() ? "" : '~' + tier); }
  static std::optional<EndpointRuleName> from(std::string_view id);
};
// The policy whose limits are the rules of a pattern. Policies that were created with the former prefix keep
// their ids.
std::string endpoint_policy_id(std::string_view endpoint_pattern);         // "endpoint-…"
std::string former_endpoint_policy_id(std::string_view endpoint_pattern);  // "lld-…"
bool is_endpoint_policy_id(std::string_view id);                           // either

// The rules that a policy consists of, and changes of single rules: pure functions on the policy.
std::vector<EndpointRule> rules_in(const Policy& policy);
std::optional<EndpointRule> find_rule(const Policy& policy, const EndpointRuleName& name);
// Adds the rule, or replaces the one with the same name. REQUIRES: the policy is that of the rule's pattern.
void put_rule(Policy& policy, const EndpointRule& rule);
// Removes the rule. If the policy then has no limits, the caller must remove the policy, too.
void take_rule(Policy& policy, const EndpointRuleName& name);

}  // namespace sluice::admin

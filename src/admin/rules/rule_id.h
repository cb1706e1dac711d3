#pragma once

#include <string>
#include <string_view>

namespace sluice::admin {

// "rule-" and sixteen letters and digits derived from tenant and resource. Valid in a URL and as a policy id;
// the same on every node and forever.
std::string rule_id(std::string_view prefix, std::string_view tenant, std::string_view resource);

// The prefixes: of /v1/rules, of /api/v1/rules, and of the latter formerly.
inline constexpr std::string_view kRulePrefix = "rule", kEndpointRulePrefix = "endpoint",
                                  kFormerEndpointRulePrefix = "lld";
// Whether the id begins with one of them.
bool is_rule_id(std::string_view id);

}  // namespace sluice::admin

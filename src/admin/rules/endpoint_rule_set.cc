#include "admin/rules/endpoint_rule_set.h"

#include <algorithm>

#include "admin/rules/rule_id.h"

namespace sluice::admin {
namespace {

// Whether this is the plain limit of rules that exist only for tiers.
bool is_placeholder(const Limit& limit) { return is_no_limit(limit.params); }

template <class Limits>
auto find_limit(Limits& limits, std::string_view name) {
  return std::ranges::find(limits, name, &Limit::name);
}

EndpointRule rule_of(const Policy& policy, const Limit& limit, std::string tier) {
  return {limit.name, limit.per->empty() ? "" : limit.per->front(), policy.resource, std::move(tier),
          limit.params};
}

// Removes tiers whose numbers are the plain ones, and limits without any rule.
void tidy(Policy& policy) {
  std::erase_if(policy.tiers.edit(), [&](const auto& tier) { return tier.second == policy.limits; });
  std::erase_if(policy.limits, [&](const Limit& limit) {
    if (!is_placeholder(limit)) return false;
    return std::ranges::none_of(policy.tiers, [&](const auto& tier) {
      return !is_placeholder(*find_limit(tier.second, limit.name));
    });
  });
  for (auto& [name, limits] : policy.tiers.edit())
    std::erase_if(limits, [&](const Limit& limit) {
      return find_limit(policy.limits, limit.name) == policy.limits.end();
    });
  std::erase_if(policy.tiers.edit(), [&](const auto& tier) { return tier.second == policy.limits; });
}

}  // namespace

std::string endpoint_policy_id(std::string_view endpoint_pattern) {
  return rule_id(kEndpointRulePrefix, "", endpoint_pattern);
}

std::string former_endpoint_policy_id(std::string_view endpoint_pattern) {
  return rule_id(kFormerEndpointRulePrefix, "", endpoint_pattern);
}

bool is_endpoint_policy_id(std::string_view id) {
  for (const std::string_view prefix : {kEndpointRulePrefix, kFormerEndpointRulePrefix})
    if (id.starts_with(prefix) && id.substr(prefix.size()).starts_with('-')) return true;
  return false;
}

std::optional<EndpointRuleName> EndpointRuleName::from(std::string_view id) {
  const std::size_t first = id.find('~');
  if (first == std::string_view::npos || !is_endpoint_policy_id(id)) return std::nullopt;
  const std::string_view rest = id.substr(first + 1);
  const std::size_t second = std::min(rest.find('~'), rest.size());
  if (second == 0) return std::nullopt;
  return EndpointRuleName{std::string(id.substr(0, first)), std::string(rest.substr(0, second)),
                          std::string(second < rest.size() ? rest.substr(second + 1) : "")};
}

std::vector<EndpointRule> rules_in(const Policy& policy) {
  std::vector<EndpointRule> rules;
  for (std::size_t i = 0; i < policy.limits.size(); ++i) {
    if (!is_placeholder(policy.limits[i])) rules.push_back(rule_of(policy, policy.limits[i], ""));
    for (const auto& [tier, limits] : policy.tiers)
      if (limits[i].params != policy.limits[i].params) rules.push_back(rule_of(policy, limits[i], tier));
  }
  return rules;
}

std::optional<EndpointRule> find_rule(const Policy& policy, const EndpointRuleName& name) {
  for (EndpointRule& rule : rules_in(policy))
    if (rule.name == name.limit && rule.tier == name.tier) return std::move(rule);
  return std::nullopt;
}

void put_rule(Policy& policy, const EndpointRule& rule) {
  const Limit fresh{
      .name = rule.name, .per = {rule.dimension}, .params = rule.tier.empty() ? rule.params : no_limit()};
  // Every tier has all limits; a limit without numbers of its own follows the plain one.
  const auto put_plain = [&](const Limit& limit) {
    const auto old = find_limit(policy.limits, rule.name);
    const bool existed = old != policy.limits.end();
    const LimitParams before = existed ? old->params : LimitParams{};
    if (existed)
      *old = limit;
    else
      policy.limits.push_back(limit);
    for (auto& [tier, limits] : policy.tiers.edit()) {
      const auto same = find_limit(limits, rule.name);
      if (same == limits.end())
        limits.push_back(limit);
      else if (existed && same->params == before)
        *same = limit;
      else
        same->per = limit.per;
    }
  };
  if (rule.tier.empty() || find_limit(policy.limits, rule.name) == policy.limits.end()) put_plain(fresh);
  if (rule.tier.empty()) return;
  auto& limits = policy.tiers.edit().try_emplace(rule.tier, policy.limits).first->second;
  find_limit(limits, rule.name)->params = rule.params;
}

void take_rule(Policy& policy, const EndpointRuleName& name) {
  const auto plain = find_limit(policy.limits, name.limit);
  if (plain == policy.limits.end()) return;
  if (!name.tier.empty()) {
    auto& tiers = policy.tiers.edit();
    if (const auto tier = tiers.find(name.tier); tier != tiers.end())
      find_limit(tier->second, name.limit)->params = plain->params;
  } else {
    const LimitParams before = plain->params;
    plain->params = no_limit();
    for (auto& [tier, limits] : policy.tiers.edit())
      if (const auto same = find_limit(limits, name.limit); same->params == before)
        same->params = plain->params;
  }
  tidy(policy);
}

}  // namespace sluice::admin

#include "policy/document/policy_reader.h"

#include <algorithm>
#include <array>
#include <unordered_map>
#include <unordered_set>

#include "base/limits.h"
#include "base/limits/pattern_limits.h"
#include "base/try.h"
#include "policy/document/limit_reader.h"
#include "policy/matching/pattern.h"
#include "policy/matching/pattern_steps.h"

namespace sluice {
namespace {

// Ids appear in URL paths. Clients and proxies remove "." and ".." from those before the server sees them.
Literal<std::string> parse_id(std::string_view text) {
  if (text == "." || text == "..")
    return std::unexpected(shown(text) + " is not a valid id: it has a special meaning in URL paths");
  return parse_name(text);
}

Literal<std::string> parse_tenant(std::string_view text) {
  return text == "*" ? Literal<std::string>(std::string()) : parse_free_text(text, kNameBytesMax);
}

Literal<std::string> parse_owner(std::string_view text) { return parse_free_text(text, kNameBytesMax); }

Literal<OnFailure> parse_on_failure(std::string_view text) {
  if (text == "open") return OnFailure::kOpen;
  if (text == "closed") return OnFailure::kClosed;
  if (text == "local") return OnFailure::kLocal;
  return std::unexpected(shown(text) + " is not a failure rule; write open, closed or local");
}

// A duration from 1 ms to `most_us`.
auto duration_up_to(std::int64_t most_us) {
  return [most_us](std::string_view text) -> Literal<std::int64_t> {
    auto us = parse_duration_us(text);
    if (!us || (*us >= 1'000 && *us <= most_us)) return us;
    return std::unexpected(shown(text) + " is out of range; it must be from 1ms to " +
                           std::to_string(most_us / 1'000'000) + "s");
  };
}

std::vector<WrittenLimit> read_limits(const DocumentNode& node, const Place& place) {
  std::vector<WrittenLimit> limits;
  if (!is_list(node, place)) return limits;
  if (node.items.empty())
    place.report(node.line, "a policy needs at least one limit; to limit nothing, remove the policy");
  if (node.items.size() > kLimitsPerPolicyMax) {
    place.report(node.line, "a policy has at most " + std::to_string(kLimitsPerPolicyMax) + " limits");
    return limits;
  }
  std::unordered_set<std::string> names;
  for (std::size_t i = 0; i < node.items.size(); ++i) {
    const Place here = place.item(i);
    limits.push_back(read_limit(node.items[i], here, i));
    if (!names.insert(limits.back().limit.name).second)
      here.field("name").report(node.items[i].line,
                                "another limit is also named " + shown(limits.back().limit.name));
    if (auto params = finish_params(limits.back(), node.items[i], here)) limits.back().limit.params = *params;
  }
  return limits;
}

std::vector<Limit> finished(const std::vector<WrittenLimit>& written) {
  std::vector<Limit> limits;
  for (const WrittenLimit& each : written) limits.push_back(each.limit);
  return limits;
}

void read_tiers(const DocumentNode& node, const Place& place, const std::vector<WrittenLimit>& plain,
                Policy& policy) {
  if (!is_map(node, place)) return;
  if (node.keys.size() > kTiersPerPolicyMax)
    return place.report(node.line, "a policy has at most " + std::to_string(kTiersPerPolicyMax) + " tiers");
  for (std::size_t i = 0; i < node.keys.size(); ++i) {
    const auto& [name, line, quoted] = node.keys[i];
    const Place here = place.field(name);
    if (const auto valid = parse_name(name); !valid) here.report(line, valid.error());
    auto limits = read_tier(node.items[i], here, plain);
    for (std::size_t j = 0; j < limits.size(); ++j) {
      if (limits[j].rate == plain[j].rate && limits[j].burst == plain[j].burst) continue;
      const DocumentNode& replaced = *node.items[i].find(limits[j].limit.name);
      const Place at = here.field(limits[j].limit.name);
      if (auto params = finish_params(limits[j], replaced, at)) limits[j].limit.params = *params;
    }
    policy.tiers.edit().emplace(name, finished(limits));
  }
}

void read_costs(const DocumentNode& node, const Place& place, Policy& policy) {
  if (!is_map(node, place)) return;
  if (node.keys.size() > kCostsPerPolicyMax)
    return place.report(node.line, "a policy has at most " + std::to_string(kCostsPerPolicyMax) + " costs");
  std::unordered_map<std::string, std::string_view> written;  // by canonical pattern
  PatternSteps steps;
  for (std::size_t i = 0; i < node.keys.size(); ++i) {
    const auto& [text, line, quoted] = node.keys[i];
    const Place here = place.field(text);
    const auto cost = to_integer(node.items[i], here, 0, kCostMax);
    const auto resource = parse_resource(text);
    if (!resource) {
      here.report(line, resource.error());
      continue;
    }
    const Pattern pattern = *parse_pattern(*resource);
    steps.add(pattern);
    const auto [other, fresh] = written.try_emplace(pattern.canonical(), text);
    if (!fresh)
      here.report(line,
                  "is the same pattern as " + shown(other->second) + "; a pattern can have only one cost");
    else if (cost)
      policy.costs.edit().emplace(text, *cost);
  }
  if (steps.count() > kCostPatternStepsMax)
    place.report(node.line, "the patterns could make a lookup take " + std::to_string(steps.count()) +
                                " steps; at most " + std::to_string(kCostPatternStepsMax) +
                                " are allowed; use fewer patterns, or policies with costs of their own");
}

Rollout read_rollout(const DocumentNode& node, const Place& place) {
  constexpr std::array<std::string_view, 2> kNames = {"percent", "valid_from"};
  Rollout rollout;
  const Fields fields(node, place, kNames);
  if (!fields.is_map()) return rollout;
  rollout.percent = static_cast<int>(fields.integer("percent", 0, 100).value_or(rollout.percent));
  rollout.valid_from_us = fields.text("valid_from", parse_instant_us).value_or(rollout.valid_from_us);
  return rollout;
}

}  // namespace

Literal<std::string> parse_resource(std::string_view text) {
  std::string plain = SLUICE_TRY(parse_free_text(text, kResourceBytesMax));
  SLUICE_TRY(parse_pattern(plain));
  return plain == "*" ? std::string() : plain;
}

std::optional<Policy> read_policy(const DocumentNode& node, const Place& place) {
  constexpr std::array<std::string_view, 14> kNames = {
      "id",    "tenant",   "resource",        "limits", "costs",  "tiers",   "on_failure",
      "local", "deadline", "idempotency_ttl", "shadow", "always", "rollout", "owner"};
  const std::size_t problems_before = place.problems.count();
  const Fields fields(node, place, kNames);
  if (!fields.is_map()) return std::nullopt;

  Policy policy;
  policy.id = fields.text("id", parse_id).value_or("");
  fields.missing("id");
  policy.tenant = fields.text("tenant", parse_tenant).value_or("");
  policy.resource = fields.text("resource", parse_resource).value_or("");
  std::vector<WrittenLimit> limits;
  fields.missing("limits", "; a policy needs at least one limit");
  if (const DocumentNode* list = fields.node("limits")) limits = read_limits(*list, place.field("limits"));
  policy.limits = finished(limits);
  if (const DocumentNode* costs = fields.node("costs")) read_costs(*costs, place.field("costs"), policy);
  if (const DocumentNode* tiers = fields.node("tiers"))
    read_tiers(*tiers, place.field("tiers"), limits, policy);
  policy.on_failure = fields.text("on_failure", parse_on_failure).value_or(policy.on_failure);
  if (const DocumentNode* local = fields.node("local"))
    if (const auto numbers = read_local(*local, place.field("local"))) policy.local = *numbers;
  policy.deadline_us = fields.text("deadline", duration_up_to(kDeadlineUsMax)).value_or(policy.deadline_us);
  policy.idempotency_ttl_us = fields.text("idempotency_ttl", duration_up_to(kIdempotencyTtlUsMax))
                                  .value_or(policy.idempotency_ttl_us);
  policy.shadow = fields.truth("shadow").value_or(policy.shadow);
  policy.always = fields.truth("always").value_or(policy.always);
  if (const DocumentNode* rollout = fields.node("rollout"))
    policy.rollout = read_rollout(*rollout, place.field("rollout"));
  policy.owner = fields.text("owner", parse_owner).value_or("");
  if (place.problems.count() > problems_before) return std::nullopt;
  return policy;
}

}  // namespace sluice

#include "policy/multi_rate/multi_rate_document.h"

#include <algorithm>
#include <array>

#include "base/limits.h"

namespace sluice {
namespace {

// JSON numbers, integers or not, arrive as plain texts, so their value is exact.
std::optional<Rate> read_flow(const Fields& fields, std::string_view name, const Place& place) {
  fields.missing(name);
  const DocumentNode* node = fields.node(name);
  if (!node) return std::nullopt;
  if (node->kind != DocumentNode::Kind::kText || node->quoted) {
    place.field(name).report(node->line, "must be a number");
    return std::nullopt;
  }
  auto rate = parse_decimal_per_second(node->text);
  if (rate) return *rate;
  place.field(name).report(node->line, rate.error());
  return std::nullopt;
}

void add_limit(const Fields& fields, std::string name, std::string_view flow_field,
               std::string_view capacity_field, const Place& place, Policy& policy) {
  const auto flow = read_flow(fields, flow_field, place);
  fields.missing(capacity_field);
  const auto capacity = fields.integer(capacity_field, 1, kRateMax);
  const bool taken =
      std::ranges::any_of(policy.limits, [&](const Limit& limit) { return limit.name == name; });
  if (taken) fields.report("name", "another rate is also named " + shown(name));
  if (!flow || !capacity || taken) return;
  const auto params = checked_limit_params(Algorithm::kLeakyBucket, *flow, capacity);
  if (!params)
    return fields.report(params.error().field == "rate" ? flow_field : capacity_field,
                         params.error().message);
  policy.limits.push_back({.name = std::move(name), .per = {"key"}, .params = *params});
}

void read_rates(const DocumentNode& node, const Place& place, Policy& policy) {
  constexpr std::array<std::string_view, 3> kNames = {"name", "flow_rate_per_second", "burst_capacity"};
  if (!is_list(node, place)) return;
  if (node.items.size() >= kLimitsPerPolicyMax)
    return place.report(node.line,
                        "there are more than " + std::to_string(kLimitsPerPolicyMax - 1) + " rates");
  for (std::size_t i = 0; i < node.items.size(); ++i) {
    const Place here = place.item(i);
    const Fields fields(node.items[i], here, kNames);
    if (!fields.is_map()) continue;
    add_limit(fields, fields.text("name", parse_name).value_or("rate" + std::to_string(i + 1)),
              "flow_rate_per_second", "burst_capacity", here, policy);
  }
}

std::optional<Policy> read_entry(const DocumentNode& node, const Place& place) {
  constexpr std::array<std::string_view, 4> kNames = {"domain", "prefix", "rate", "rates"};
  constexpr std::array<std::string_view, 2> kRateNames = {"capacity", "leak_rate_per_second"};
  const std::size_t problems_before = place.problems.count();
  const Fields fields(node, place, kNames);
  if (!fields.is_map()) return std::nullopt;

  Policy policy;
  fields.missing("domain");
  policy.tenant = fields.text("domain", parse_name).value_or("");
  const auto parse_prefix = [](std::string_view text) {
    return text.empty() ? Literal<std::string>("") : parse_name(text);
  };
  policy.resource = fields.text("prefix", parse_prefix).value_or("");
  policy.id = multi_rate_policy_id(policy.tenant, policy.resource);
  if (policy.id.size() > kNameBytesMax)
    place.report(node.line,
                 "domain and prefix together exceed " + std::to_string(kNameBytesMax - 1) + " bytes");
  if (!fields.has("rate") && !fields.has("rates"))
    fields.missing("rate", "; an entry needs `rate` or `rates`");
  if (const DocumentNode* rate = fields.node("rate")) {
    const Place here = place.field("rate");
    const Fields numbers(*rate, here, kRateNames);
    if (numbers.is_map()) add_limit(numbers, "rate", "leak_rate_per_second", "capacity", here, policy);
  }
  if (const DocumentNode* rates = fields.node("rates")) read_rates(*rates, place.field("rates"), policy);
  if (place.problems.count() > problems_before) return std::nullopt;
  if (policy.limits.empty()) {
    fields.report("rates", "an entry needs at least one rate");
    return std::nullopt;
  }
  return policy;
}

}  // namespace

std::string multi_rate_policy_id(const std::string& domain, const std::string& prefix) {
  return prefix.empty() ? domain : domain + ':' + prefix;
}

void read_multi_rate_document(const DocumentNode& tree, const Place& top, std::vector<WrittenPolicy>& out) {
  constexpr std::array<std::string_view, 1> kNames = {"domains"};
  const Fields fields(tree, top, kNames);
  const DocumentNode* list = fields.node("domains");
  const Place place = top.field("domains");
  if (!list || !is_list(*list, place)) return;
  if (list->items.size() > kPoliciesMax)
    return place.report(list->line, "there are more than " + std::to_string(kPoliciesMax) + " entries");
  for (std::size_t i = 0; i < list->items.size(); ++i) {
    const Place here = place.item(i);
    if (auto policy = read_entry(list->items[i], here))
      out.push_back({std::move(*policy), top.file, list->items[i].line, here.path()});
  }
}

}  // namespace sluice

#include "policy/document/limit_reader.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/limits.h"

namespace sluice {
namespace {

// In the order of the enum.
constexpr std::array<std::string_view, 3> kOnChangeNames = {"keep", "proportional", "reset"};

// A list of dimensions, or a single one as text.
std::vector<std::string> read_dimensions(const DocumentNode& node, const Place& place) {
  std::vector<std::string> names;
  const auto add = [&](const DocumentNode& item, const Place& at) {
    if (!is_text(item, at)) return;
    const auto name = parse_name(item.text);
    if (!name) return at.report(item.line, name.error());
    if (std::ranges::find(names, *name) != names.end())
      return at.report(item.line, "the dimension " + shown(*name) + " is listed twice");
    names.push_back(*name);
  };
  if (node.kind == DocumentNode::Kind::kText) {
    add(node, place);
  } else if (node.kind != DocumentNode::Kind::kList) {
    place.report(node.line, "must be a list of dimensions, such as [tenant, user]");
  } else if (node.items.size() > kDimensionsPerLimitMax) {
    place.report(node.line,
                 "a limit can have at most " + std::to_string(kDimensionsPerLimitMax) + " dimensions");
  } else {
    for (std::size_t i = 0; i < node.items.size(); ++i) add(node.items[i], place.item(i));
  }
  std::ranges::sort(names);
  return names;
}

// The two numbers that limits, tiers and `local` have in common.
void read_numbers(const Fields& fields, WrittenLimit& written) {
  if (const auto rate = fields.text("rate", parse_rate)) written.rate = rate;
  if (const auto burst = fields.integer("burst", 0, kRateMax)) written.burst = burst;
}

}  // namespace

Literal<Algorithm> parse_algorithm(std::string_view text) {
  if (const auto algorithm = algorithm_from_string(text)) return *algorithm;
  return std::unexpected(shown(text) +
                         " is not an algorithm; use gcra, token_bucket, leaky_bucket, fixed_window, "
                         "sliding_window or sliding_log");
}

std::string_view to_string(OnChange on_change) { return kOnChangeNames[std::to_underlying(on_change)]; }

Literal<OnChange> parse_on_change(std::string_view text) {
  const auto* const found = std::ranges::find(kOnChangeNames, text);
  if (found != kOnChangeNames.end()) return static_cast<OnChange>(found - kOnChangeNames.begin());
  return std::unexpected(shown(text) + " must be keep, proportional or reset");
}

std::string default_limit_name(std::size_t index) { return "limit" + std::to_string(index + 1); }

WrittenLimit read_limit(const DocumentNode& node, const Place& place, std::size_t index) {
  constexpr std::array<std::string_view, 8> kNames = {"name",      "per",      "rate",         "burst",
                                                      "algorithm", "required", "count_denied", "on_change"};
  WrittenLimit written;
  const Fields fields(node, place, kNames);
  if (!fields.is_map()) return written;
  written.limit.name = fields.text("name", parse_name).value_or(default_limit_name(index));
  if (const DocumentNode* per = fields.node("per"))
    written.limit.per = read_dimensions(*per, place.field("per"));
  written.limit.required = fields.truth("required").value_or(false);
  written.limit.count_denied = fields.truth("count_denied").value_or(false);
  written.algorithm = fields.text("algorithm", parse_algorithm).value_or(Algorithm::kGcra);
  written.limit.on_change = fields.text("on_change", parse_on_change).value_or(OnChange::kKeep);
  read_numbers(fields, written);
  fields.missing("rate", "; write it as 100/s or 10/90s");
  return written;
}

std::vector<WrittenLimit> read_tier(const DocumentNode& node, const Place& place,
                                    const std::vector<WrittenLimit>& plain) {
  constexpr std::array<std::string_view, 2> kNames = {"rate", "burst"};
  std::vector<WrittenLimit> limits = plain;
  if (!is_map(node, place)) return limits;
  for (std::size_t i = 0; i < node.keys.size(); ++i) {
    const auto& [name, line, quoted] = node.keys[i];
    const Place here = place.field(name);
    const auto limit =
        std::ranges::find(limits, name, [](const WrittenLimit& w) -> const auto& { return w.limit.name; });
    if (limit == limits.end()) {
      here.report(line, "the policy has no limit named " + shown(name));
      continue;
    }
    const Fields fields(node.items[i], here, kNames);
    if (fields.is_map()) read_numbers(fields, *limit);
  }
  return limits;
}

std::optional<LimitParams> finish_params(const WrittenLimit& written, const DocumentNode& node,
                                         const Place& place) {
  if (!written.rate) return std::nullopt;  // was reported when it was read
  auto params = checked_limit_params(written.algorithm, *written.rate, written.burst);
  if (params) return *params;
  std::string_view field = params.error().field;
  if (!node.find(field)) field = field == "rate" ? "burst" : "rate";
  const DocumentNode* value = node.find(field);
  place.field(field).report(value ? value->line : node.line, std::move(params.error().message));
  return std::nullopt;
}

std::optional<LimitParams> read_local(const DocumentNode& node, const Place& place) {
  constexpr std::array<std::string_view, 2> kNames = {"rate", "burst"};
  WrittenLimit written;
  const Fields fields(node, place, kNames);
  if (!fields.is_map()) return std::nullopt;
  read_numbers(fields, written);
  fields.missing("rate", "; write it as 100/s or 10/90s");
  return finish_params(written, node, place);
}

}  // namespace sluice

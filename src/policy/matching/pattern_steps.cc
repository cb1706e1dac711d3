#include "policy/matching/pattern_steps.h"

#include <algorithm>
#include <map>
#include <optional>

#include "base/limits/pattern_limits.h"

namespace sluice {

void PatternSteps::add(const Pattern& pattern) {
  std::uint32_t at = 0;
  for (const auto& segment : pattern.segments) {
    std::uint32_t next = segment ? places_[at].text : places_[at].any;
    if (next == 0) {
      next = static_cast<std::uint32_t>(places_.size());
      (segment ? places_[at].text : places_[at].any) = next;
      places_.emplace_back();
      ++count_;
    }
    at = next;
  }
  if (pattern.kind != Pattern::Kind::kPrefix) return;
  auto& lengths = places_[at].prefix_lengths;
  const auto length = static_cast<std::uint32_t>(pattern.last_prefix.size());
  const auto place = std::ranges::lower_bound(lengths, length);
  if (place != lengths.end() && *place == length) return;
  lengths.insert(place, length);
  ++count_;
}

std::string too_many_steps_message(std::string_view tenant, std::size_t steps) {
  const std::string whose =
      tenant.empty() ? "policies for any tenant" : "tenant \"" + std::string(tenant) + '"';
  return "the resource patterns of " + whose + " could make a lookup take " + std::to_string(steps) +
         " steps; at most " + std::to_string(kPatternStepsMax) +
         " are allowed; have {name} and * in the same segments of more patterns, or fewer different lengths "
         "of the text before a star at the end";
}

std::vector<TooManySteps> find_too_many_steps(const std::vector<const Policy*>& policies) {
  struct OfTenant {
    PatternSteps steps;
    std::optional<std::size_t> first_beyond;
  };
  std::map<std::string_view, OfTenant> of_tenant;
  for (std::size_t i = 0; i < policies.size(); ++i) {
    const auto pattern = parse_pattern(policies[i]->resource);
    if (!pattern || pattern->kind == Pattern::Kind::kExact) continue;
    OfTenant& tenant = of_tenant[policies[i]->tenant];
    tenant.steps.add(*pattern);
    if (!tenant.first_beyond && tenant.steps.count() > kPatternStepsMax) tenant.first_beyond = i;
  }
  std::vector<TooManySteps> too_many;
  for (const auto& [tenant, each] : of_tenant)
    if (each.first_beyond)
      too_many.push_back({*each.first_beyond, too_many_steps_message(tenant, each.steps.count())});
  return too_many;
}

}  // namespace sluice

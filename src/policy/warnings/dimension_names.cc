#include "policy/warnings/dimension_names.h"

#include <algorithm>
#include <array>

#include "base/limits.h"
#include "base/text/near_name.h"
#include "document/literals.h"

namespace sluice {
namespace {

constexpr std::array<std::string_view, 9> kProvided = {"tenant", "resource", "route",   "key", "user",
                                                       "ip",     "method",   "api_key", "tier"};

std::string warning_about(std::string_view name) {
  const std::string_view meant = near_name(name, kProvided);
  const std::string guess = meant.empty() ? "" : "; did you mean " + shown(meant) + "?";
  return "no endpoint fills in the dimension " + shown(name) +
         ": requests that do not send it in `dimensions` skip this limit" + guess;
}

// Envoy descriptors arrive as a resource that begins with the names of their dimensions: "/path.account/…".
bool is_of_resource(std::string_view name, const Policy& policy) { return policy.resource.contains(name); }

// Calls `warn(limit, sentence)` for each name that is neither provided nor already known.
template <class Warn>
void visit_unknown(const Policy& policy, std::set<std::string>& known, const Warn& warn) {
  for (std::size_t i = 0; i < policy.limits.size(); ++i)
    for (const std::string& name : *policy.limits[i].per)
      if (!is_provided_dimension(name) && !is_of_resource(name, policy) &&
          known.size() < kPolicyProblemsMax && known.insert(name).second)
        warn(i, warning_about(name));
}

std::string per_of(std::size_t limit) { return "limits[" + std::to_string(limit) + "].per"; }

}  // namespace

bool is_provided_dimension(std::string_view name) {
  return std::ranges::find(kProvided, name) != kProvided.end();
}

std::vector<Problem> warn_of_dimensions(std::span<const WrittenPolicy> policies,
                                        std::set<std::string>& known) {
  std::vector<Problem> warnings;
  for (const WrittenPolicy& each : policies)
    visit_unknown(each.policy, known, [&](std::size_t limit, std::string sentence) {
      const std::string field = each.path.empty() ? per_of(limit) : each.path + '.' + per_of(limit);
      warnings.push_back({each.file, each.line, field, std::move(sentence)});
    });
  return warnings;
}

std::vector<std::string> dimension_warnings(std::span<const Policy> policies) {
  std::vector<std::string> warnings;
  std::set<std::string> known;
  for (const Policy& policy : policies)
    visit_unknown(policy, known, [&](std::size_t limit, const std::string& sentence) {
      warnings.push_back(policy.id + ": " + per_of(limit) + ": " + sentence);
    });
  return warnings;
}

}  // namespace sluice

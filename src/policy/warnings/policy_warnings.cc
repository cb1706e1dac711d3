#include "policy/warnings/policy_warnings.h"

#include <utility>

#include "base/limits.h"
#include "policy/warnings/dimension_names.h"
#include "policy/warnings/mixed_tiers.h"

namespace sluice {
namespace {

// Calls `warn(field, sentence)` for each limit whose tiers add up.
template <class Warn>
void visit_mixed_tiers(const Policy& policy, const Warn& warn) {
  if (policy.tiers.empty()) return;
  for (std::size_t i = 0; i < policy.limits.size(); ++i)
    if (std::string sentence = mixed_tiers_warning(policy, i); !sentence.empty())
      warn("limits[" + std::to_string(i) + ']', std::move(sentence));
}

}  // namespace

std::vector<Problem> warnings_of(std::span<const WrittenPolicy> policies, std::set<std::string>& known) {
  std::vector<Problem> warnings = warn_of_dimensions(policies, known);
  for (const WrittenPolicy& each : policies)
    visit_mixed_tiers(each.policy, [&](const std::string& field, std::string sentence) {
      if (warnings.size() >= 2 * kPolicyProblemsMax) return;
      warnings.push_back(
          {each.file, each.line, each.path.empty() ? field : each.path + '.' + field, std::move(sentence)});
    });
  return warnings;
}

std::vector<std::string> warnings_of(std::span<const Policy> policies) {
  std::vector<std::string> warnings = dimension_warnings(policies);
  for (const Policy& policy : policies)
    visit_mixed_tiers(policy, [&](const std::string& field, const std::string& sentence) {
      if (warnings.size() >= 2 * kPolicyProblemsMax) return;
      std::string& warning = warnings.emplace_back(policy.id);
      warning.append(": ").append(field).append(": ").append(sentence);
    });
  return warnings;
}

}  // namespace sluice

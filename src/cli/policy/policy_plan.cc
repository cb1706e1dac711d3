#include "cli/policy/policy_plan.h"

#include <fmt/format.h>

#include <unordered_map>

#include "policy/document/policy_writer.h"

namespace sluice::cli {
namespace {

constexpr std::string_view kIndent = "    ";

std::string indented(std::string_view lines) {
  std::string text;
  while (!lines.empty()) {
    const std::size_t end = std::min(lines.find('\n'), lines.size() - 1);
    text.append(kIndent).append(lines.substr(0, end + 1));
    lines.remove_prefix(end + 1);
  }
  return text;
}

}  // namespace

ApplyPlan make_plan(const std::vector<Policy>& wanted, const std::vector<RemotePolicy>& present) {
  std::unordered_map<std::string_view, const RemotePolicy*> by_id;
  for (const RemotePolicy& each : present) by_id.emplace(each.policy.id, &each);
  ApplyPlan plan;
  for (const Policy& policy : wanted) {
    const auto found = by_id.find(policy.id);
    if (found == by_id.end()) {
      plan.steps.push_back({policy, std::nullopt});
      continue;
    }
    Policy same = policy;
    same.version = found->second->policy.version;
    if (same == found->second->policy)
      ++plan.unchanged;
    else
      plan.steps.push_back({std::move(same), *found->second});
  }
  return plan;
}

std::string changes_text(const Policy& before, const Policy& after) {
  std::string text;
  for (const FieldChange& change : document_changes(policy_document(before), policy_document(after)))
    text.append(change_text(change)).append(1, '\n');
  return indented(text);
}

std::string plan_text(const ApplyPlan& plan) {
  std::string text;
  std::size_t created = 0;
  for (const ApplyPlan::Step& step : plan.steps) {
    if (step.before) {
      text += fmt::format("~ {}, version {}\n", step.after.id, step.before->policy.version);
      text += changes_text(step.before->policy, step.after);
      continue;
    }
    ++created;
    std::string document;
    write_policy_yaml(step.after, document);
    text += fmt::format("+ {}\n{}", step.after.id, indented(document));
  }
  return text + fmt::format("{} new, {} changed, {} unchanged\n", created, plan.steps.size() - created,
                            plan.unchanged);
}

}  // namespace sluice::cli

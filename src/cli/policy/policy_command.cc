#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "cli/command.h"
#include "cli/policy/policy_commands.h"
#include "policy/files/policy_files.h"

namespace sluice::cli {
namespace {

int validate(const std::vector<std::string>& paths, bool may_deny_everyone) {
  std::vector<Problem> warnings;
  const Problems problems = validate_policy_files(paths, may_deny_everyone, &warnings);
  for (const Problem& warning : warnings) fmt::print(stderr, "warning: {}\n", warning.text());
  for (const std::string& line : problems.texts()) fmt::print(stderr, "{}\n", line);
  if (!problems.empty()) return kExitDenied;
  fmt::print("{}: valid\n", fmt::join(paths, ", "));
  return kExitOk;
}

}  // namespace

void add_policy_validate(CLI::App& policy, int& exit_code) {
  const auto paths = std::make_shared<std::vector<std::string>>();
  const auto confirmed = std::make_shared<bool>(false);
  CLI::App* command = policy.add_subcommand("validate", "Check policy files; exit status 0 valid, 1 not");
  command->add_option("paths", *paths, "files or directories, in YAML, JSON or the `domains` schema")
      ->required();
  command->add_flag("--confirm-denies-everyone", *confirmed,
                    "allow policies that deny every request from every caller");
  command->footer("Example:\n  sluice policy validate examples/policies.yaml");
  command->callback([paths, confirmed, &exit_code] { exit_code = validate(*paths, *confirmed); });
}

void add_policy(CLI::App& app, int& exit_code) {
  CLI::App* command = app.add_subcommand("policy", "Work with policies: in files, and of a running server");
  command->require_subcommand(1);
  command->footer(
      "Example:\n  sluice policy validate policies.yaml\n  sluice policy diff policies.yaml\n"
      "  sluice policy apply policies.yaml --reason 'noon peak'\nSee also `sluice policy COMMAND --help`.");
  add_policy_validate(*command, exit_code);
  add_policy_apply(*command, exit_code);
  add_policy_list(*command, exit_code);
  add_policy_show(*command, exit_code);
  add_policy_diff(*command, exit_code);
  add_policy_rollout(*command, exit_code);
  add_policy_rollback(*command, exit_code);
  add_policy_import_envoy(*command, exit_code);
}

}  // namespace sluice::cli

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "cli/command.h"
#include "policy/policy_files.h"

namespace sluice::cli {
namespace {

int validate(const std::vector<std::string>& paths) {
  const Problems problems = validate_policy_files(paths);
  for (const std::string& line : problems.texts()) fmt::print(stderr, "{}\n", line);
  if (!problems.empty()) return kExitDenied;
  fmt::print("{}: valid\n", fmt::join(paths, ", "));
  return kExitOk;
}

}  // namespace

void add_policy(CLI::App& app, int& exit_code) {
  CLI::App* command = app.add_subcommand("policy", "Work with policy documents");
  command->require_subcommand(1);

  const auto paths = std::make_shared<std::vector<std::string>>();
  CLI::App* check = command->add_subcommand("validate", "Check policy files; exit status 0 valid, 1 not");
  check->add_option("paths", *paths, "files or directories, in YAML, JSON or the `domains` schema")
      ->required();
  check->footer("Example:\n  sluice policy validate examples/policies.yaml");
  check->callback([paths, &exit_code] { exit_code = validate(*paths); });
}

}  // namespace sluice::cli

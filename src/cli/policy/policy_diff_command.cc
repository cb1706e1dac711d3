#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "cli/command.h"
#include "cli/policy/policy_commands.h"
#include "cli/policy/policy_plan.h"
#include "cli/policy/wanted_policies.h"

namespace sluice::cli {
namespace {

// As in diff(1).
constexpr int kExitSame = 0, kExitDiffers = 1;

struct DiffOptions {
  ClientOptions server;
  std::string what;  // a policy's id, or a file or directory
  std::optional<std::int64_t> from, to;
};

int diff_files(const DiffOptions& options) {
  const std::vector<Policy> wanted = read_wanted_policies({options.what});
  const SystemClock clock;
  const ApplyPlan plan = make_plan(wanted, fetch_policies(ApiClient(options.server, clock), ""));
  if (plan.is_empty()) return kExitSame;
  fmt::print("{}", plan_text(plan));
  return kExitDiffers;
}

int diff_versions(const DiffOptions& options) {
  const SystemClock clock;
  const ApiClient client(options.server, clock);
  const Policy after = options.to ? *fetch_version(client, options.what, *options.to).policy
                                  : fetch_policy(client, options.what).policy;
  const RemoteVersion before = options.from ? fetch_version(client, options.what, *options.from)
                                            : version_before(client, options.what, after.version);
  const std::string changes = changes_text(*before.policy, after);
  if (changes.empty()) return kExitSame;
  fmt::print("{}, version {} → {}\n{}", options.what, before.version, after.version, changes);
  return kExitDiffers;
}

// A file that does not exist should be reported as such, not as a policy that nobody knows.
bool looks_like_a_file(const std::string& name) {
  return name.ends_with(".yaml") || name.ends_with(".yml") || name.ends_with(".json");
}

int diff(const DiffOptions& options) {
  std::error_code unknown;
  const bool is_path = !options.from && !options.to &&
                       (std::filesystem::exists(options.what, unknown) || looks_like_a_file(options.what));
  return is_path ? diff_files(options) : diff_versions(options);
}

}  // namespace

void add_policy_diff(CLI::App& policy, int& exit_code) {
  const auto options = std::make_shared<DiffOptions>();
  CLI::App* command = policy.add_subcommand(
      "diff", "What differs, field by field; exit status 0 nothing, 1 something, 2 error");
  command
      ->add_option("what", options->what,
                   "a file or directory: what applying it would change; or the id of a policy: what its last "
                   "version changed")
      ->required();
  command->add_option("--from", options->from, "this version of the policy; absent: the one before")
      ->check(CLI::PositiveNumber);
  command->add_option("--to", options->to, "with this one; absent: the one in force")
      ->check(CLI::PositiveNumber);
  add_server_options(*command, options->server);
  command->footer(
      "Example:\n  sluice policy diff policies.yaml\n  sluice policy diff api.read --from 45 --to 47");
  command->callback([options, &exit_code] { exit_code = diff(*options); });
}

}  // namespace sluice::cli

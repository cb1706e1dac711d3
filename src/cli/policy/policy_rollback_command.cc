#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <limits>
#include <memory>
#include <optional>
#include <string>

#include "base/text/encode.h"
#include "cli/command.h"
#include "cli/policy/policy_commands.h"
#include "cli/policy/policy_plan.h"

namespace sluice::cli {
namespace {

struct RollbackOptions {
  ClientOptions server;
  std::string id;
  std::optional<std::int64_t> to;
  bool confirmed = false;
};

// The newest version, even if it is a deletion.
RemoteVersion newest_of(const ApiClient& client, const std::string& id) {
  auto versions = fetch_versions(client, id, std::numeric_limits<std::int64_t>::max(), 1);
  if (versions.empty()) throw CommandError(fmt::format("the server has no version of policy {}", id));
  return std::move(versions.front());
}

int roll_back(const RollbackOptions& options) {
  const SystemClock clock;
  const ApiClient client(options.server, clock);
  const RemoteVersion now = newest_of(client, options.id);
  const RemoteVersion then = options.to ? fetch_version(client, options.id, *options.to)
                                        : version_before(client, options.id, now.version);
  const DocumentNode answer =
      client.call({.method = "POST",
                   .path = fmt::format("/v1/policies/{}/rollback{}", percent_encode(options.id),
                                       options.confirmed ? "?confirm=deny-everyone" : ""),
                   .body = fmt::format("{{\"version\":{}}}", then.version),
                   .version = now.policy ? now.version : 0});
  fmt::print("{}, version {}: equal to version {}\n", options.id, number_of(answer, "version"), then.version);
  if (now.policy) fmt::print("{}", changes_text(*now.policy, *then.policy));
  return kExitOk;
}

}  // namespace

void add_policy_rollback(CLI::App& policy, int& exit_code) {
  const auto options = std::make_shared<RollbackOptions>();
  CLI::App* command = policy.add_subcommand(
      "rollback", "Go back to an older version of a policy, by a new version equal to it");
  command->add_option("id", options->id, "the policy; it may be deleted")->required();
  command->add_option("--to", options->to, "that version; absent: the one before the newest")
      ->check(CLI::PositiveNumber);
  command->add_flag("--confirm-denies-everyone", options->confirmed,
                    "even if that version denies every request from every caller");
  add_reason_option(*command, options->server);
  add_server_options(*command, options->server);
  command->footer("Example:\n  sluice policy rollback api.read --to 46 --reason 'too strict'");
  command->callback([options, &exit_code] { exit_code = roll_back(*options); });
}

}  // namespace sluice::cli

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "base/limits.h"
#include "base/text/encode.h"
#include "cli/command.h"
#include "cli/policy/policy_commands.h"
#include "cli/policy/policy_plan.h"
#include "cli/policy/wanted_policies.h"
#include "document/document_builder.h"
#include "document/document_text.h"
#include "policy/document/policy_writer.h"
#include "policy/warnings/denies_everyone.h"
#include "policy/warnings/policy_warnings.h"

namespace sluice::cli {
namespace {

struct ApplyOptions {
  ClientOptions server;
  std::vector<std::string> paths;
  bool dry_run = false;
  bool confirmed = false;
};

// The server would refuse it as well, but not in a dry run.
void refuse_denying_everyone(const ApplyPlan& plan) {
  for (const ApplyPlan::Step& step : plan.steps)
    if (denies_everyone(step.after))
      throw CommandError(
          fmt::format("policy {} would deny every request from every caller; if that is intended, add "
                      "--confirm-denies-everyone",
                      step.after.id));
}

// {"policies":[…],"expected":{…}} of all steps: the policies, and the versions that they replace.
std::string body_of(const ApplyPlan& plan) {
  DocumentNode list = list_node();
  DocumentNode expected = map_node();
  for (const ApplyPlan::Step& step : plan.steps) {
    list.items.push_back(policy_document(step.after));
    put(expected, step.after.id, number_node(step.before ? step.before->policy.version : 0));
  }
  DocumentNode map = map_node();
  put(map, "policies", std::move(list));
  put(map, "expected", std::move(expected));
  std::string body;
  append_json(map, body);
  if (body.size() > kBodyBytesMax)
    throw CommandError(
        fmt::format("the policies that changed are {} bytes, and a server accepts at most {} at a "
                    "time; apply them in several steps",
                    body.size(), kBodyBytesMax));
  return body;
}

// Several policies are written together, all or none. Nothing is written if one of them was changed
// meanwhile.
std::vector<std::string> write(const ApiClient& client, const ApplyPlan& plan, const std::string& confirm) {
  if (plan.steps.size() == 1) {
    const ApplyPlan::Step& step = plan.steps.front();
    std::string body;
    write_policy(step.after, body);
    const DocumentNode answer =
        client.call({.method = "PUT",
                     .path = "/v1/policies/" + percent_encode(step.after.id) + confirm,
                     .body = std::move(body),
                     .version = step.before ? step.before->policy.version : 0});
    return {text_of(answer, "id") + '#' + text_of(answer, "version")};
  }
  const DocumentNode answer =
      client.call({.method = "POST", .path = "/v1/policies" + confirm, .body = body_of(plan)});
  std::vector<std::string> written;
  if (const DocumentNode* changed = answer.find("changed"))
    for (const DocumentNode& each : changed->items) written.push_back(each.text);
  return written;
}

int apply(const ApplyOptions& options) {
  const std::vector<Policy> wanted = read_wanted_policies(options.paths);
  const SystemClock clock;
  const ApiClient client(options.server, clock);
  const ApplyPlan plan = make_plan(wanted, fetch_policies(client, ""));
  fmt::print("{}", plan_text(plan));
  for (const std::string& warning : warnings_of(wanted)) fmt::print(stderr, "warning: {}\n", warning);
  if (plan.is_empty()) return kExitOk;
  if (!options.confirmed) refuse_denying_everyone(plan);
  if (options.dry_run) {
    client.call({.method = "POST", .path = "/v1/policies?dry_run=true", .body = body_of(plan)});
    fmt::print("the server would accept this; nothing was written\n");
    return kExitOk;
  }
  const auto written = write(client, plan, options.confirmed ? "?confirm=deny-everyone" : "");
  fmt::print("in force: {}\n", fmt::join(written, ", "));
  return kExitOk;
}

}  // namespace

void add_policy_apply(CLI::App& policy, int& exit_code) {
  const auto options = std::make_shared<ApplyOptions>();
  CLI::App* command =
      policy.add_subcommand("apply", "Show what files would change on a server, and apply them: all or none");
  command->add_option("paths", options->paths, "policy files or directories")->required();
  command->add_flag("--dry-run", options->dry_run,
                    "only show the changes, and ask the server whether it would accept them");
  command->add_flag("--confirm-denies-everyone", options->confirmed,
                    "allow policies that deny every request from every caller");
  add_reason_option(*command, options->server);
  add_server_options(*command, options->server);
  command->footer(
      "Policies that the files don't name stay as they are. Exit status 0 done, 2 not.\n"
      "Example:\n  sluice policy apply policies.yaml --reason 'noon peak' --dry-run");
  command->callback([options, &exit_code] { exit_code = apply(*options); });
}

}  // namespace sluice::cli

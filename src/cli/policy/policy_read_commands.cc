#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/command.h"
#include "cli/output.h"
#include "cli/policy/policy_commands.h"
#include "cli/policy/remote_policies.h"
#include "document/document_builder.h"
#include "document/literals.h"
#include "policy/document/policy_writer.h"

namespace sluice::cli {
namespace {

constexpr std::size_t kVersionsShown = 100;

struct ListOptions {
  ClientOptions server;
  std::string tenant;
  Output output = Output::kTable;
};

struct ShowOptions {
  ClientOptions server;
  std::string id;
  std::optional<std::int64_t> version;
  bool versions = false;
  Output output = Output::kYaml;
};

std::string or_star(const std::string& text) { return text.empty() ? "*" : text; }

// "burst 100/s, hour 100000/h (shadow)"
std::string limits_in_short(const Policy& policy) {
  std::string text;
  for (const Limit& limit : policy.limits)
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", limit.name, rate_text(limit.params.rate));
  if (policy.shadow) text += " (shadow)";
  if (policy.always) text += " (always)";
  return text;
}

int list(const ListOptions& options) {
  const SystemClock clock;
  const auto policies = fetch_policies(ApiClient(options.server, clock), options.tenant);
  if (options.output == Output::kTable) {
    std::vector<std::vector<std::string>> rows = {
        {"ID", "VERSION", "TENANT", "RESOURCE", "LIMITS", "SOURCE", "OWNER"}};
    for (const auto& [policy, source] : policies)
      rows.push_back({policy.id, std::to_string(policy.version), or_star(policy.tenant),
                      or_star(policy.resource), limits_in_short(policy), source, policy.owner});
    fmt::print("{}", table_text(rows));
    return kExitOk;
  }
  DocumentNode views = list_node();
  for (const auto& [policy, source] : policies) {
    DocumentNode& view = views.items.emplace_back(map_node());
    put(view, "id", text_node(policy.id));
    put(view, "version", number_node(policy.version));
    put(view, "source", text_node(source));
    put(view, "document", policy_document(policy));
  }
  DocumentNode all = map_node();
  put(all, "policies", std::move(views));
  fmt::print("{}", document_output(all, options.output));
  return kExitOk;
}

int show_versions(const ApiClient& client, const ShowOptions& options) {
  std::vector<std::vector<std::string>> rows = {{"VERSION", "AT", "ACTION", "ACTOR", "REASON"}};
  for (const RemoteVersion& each :
       fetch_versions(client, options.id, std::numeric_limits<std::int64_t>::max(), kVersionsShown))
    rows.push_back({std::to_string(each.version), each.at, each.action, each.actor, each.reason});
  fmt::print("{}", table_text(rows));
  return kExitOk;
}

// As a file that can be applied again.
void print_policy(const Policy& policy, const std::string& where_from, Output output) {
  DocumentNode document = map_node();
  put(document, "policies", list_node());
  document.items.back().items.push_back(policy_document(policy));
  if (output == Output::kYaml) fmt::print("# {} version {}, {}\n", policy.id, policy.version, where_from);
  fmt::print("{}", document_output(document, output));
}

int show(const ShowOptions& options) {
  const SystemClock clock;
  const ApiClient client(options.server, clock);
  if (options.versions) return show_versions(client, options);
  if (!options.version) {
    const RemotePolicy found = fetch_policy(client, options.id);
    print_policy(found.policy, found.source == "file" ? "from a file of the server" : "from the API",
                 options.output);
    return kExitOk;
  }
  const RemoteVersion found = fetch_version(client, options.id, *options.version);
  const std::string why = found.reason.empty() ? "" : ": " + found.reason;
  print_policy(*found.policy, fmt::format("{} by {} at {}{}", found.action, found.actor, found.at, why),
               options.output);
  return kExitOk;
}

}  // namespace

void add_policy_list(CLI::App& policy, int& exit_code) {
  const auto options = std::make_shared<ListOptions>();
  CLI::App* command = policy.add_subcommand("list", "The policies in force on a server");
  command->add_option("--tenant", options->tenant, "only of this tenant");
  add_output_option(*command, options->output, true);
  add_server_options(*command, options->server);
  command->footer("Example:\n  sluice policy list --tenant search-service");
  command->callback([options, &exit_code] { exit_code = list(*options); });
}

void add_policy_show(CLI::App& policy, int& exit_code) {
  const auto options = std::make_shared<ShowOptions>();
  CLI::App* command =
      policy.add_subcommand("show", "Print a policy as a document, ready to be edited and applied");
  command->add_option("id", options->id, "the policy")->required();
  auto* version = command->add_option("--version", options->version, "that version; absent: the one in force")
                      ->check(CLI::PositiveNumber);
  command
      ->add_flag(
          "--versions", options->versions,
          fmt::format("its history instead: the last {} versions, who wrote them and why", kVersionsShown))
      ->excludes(version);
  add_output_option(*command, options->output, false);
  add_server_options(*command, options->server);
  command->footer("Example:\n  sluice policy show api.read --version 46 > api.read.yaml");
  command->callback([options, &exit_code] { exit_code = show(*options); });
}

}  // namespace sluice::cli

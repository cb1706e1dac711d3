#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/text/number_text.h"
#include "cli/command.h"
#include "cli/output/output.h"
#include "cli/output/words.h"
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

// "file, shadow": what is special about the policy.
std::string notes_on(const RemotePolicy& remote) {
  std::vector<std::string_view> notes;
  if (remote.source != "api") notes.push_back(remote.source);
  if (remote.policy.shadow) notes.emplace_back("shadow");
  if (remote.policy.always) notes.emplace_back("always");
  if (!remote.policy.tiers.empty()) notes.emplace_back("tiers");
  return fmt::format("{}", fmt::join(notes, ", "));
}

// What a bucket holds; windows have no burst of their own.
std::string burst_words(const LimitParams& params) {
  return params.is_bucket() ? grouped(static_cast<std::uint64_t>(params.capacity)) : "-";
}

// A row for each limit. What the limits of a policy share is said once.
Table policies_table(const std::vector<RemotePolicy>& policies) {
  Table table{{"POLICY", "TENANT", "RESOURCE", "LIMIT", "PER", "RATE", "BURST", "NOTES"}, {}};
  for (const RemotePolicy& remote : policies) {
    const Policy& policy = remote.policy;
    std::vector<std::string> of_policy = {fmt::format("{}#{}", policy.id, policy.version),
                                          or_star(policy.tenant), or_star(policy.resource)};
    std::string notes = notes_on(remote);
    for (const Limit& limit : policy.limits) {
      auto& row = table.rows.emplace_back(std::exchange(of_policy, {"", "", ""}));
      row.insert(row.end(), {limit.name, per_words(*limit.per),
                             rate_words(limit.params.rate.count, limit.params.rate.period_us),
                             burst_words(limit.params), std::exchange(notes, "")});
    }
  }
  return table;
}

DocumentNode policies_document(const std::vector<RemotePolicy>& policies) {
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
  return all;
}

int list(const ListOptions& options) {
  const SystemClock clock;
  const auto policies = fetch_policies(ApiClient(options.server, clock), options.tenant);
  print_result(options.output, policies_document(policies), [&] { return policies_table(policies); });
  return kExitOk;
}

DocumentNode versions_document(const std::vector<RemoteVersion>& versions) {
  DocumentNode list = list_node();
  for (const RemoteVersion& each : versions) {
    DocumentNode& view = list.items.emplace_back(map_node());
    put(view, "version", number_node(each.version));
    put(view, "at", text_node(each.at));
    put(view, "action", text_node(each.action));
    put(view, "actor", text_node(each.actor));
    put_text(view, "reason", each.reason);
    put(view, "document", each.policy ? policy_document(*each.policy) : null_node());
  }
  DocumentNode all = map_node();
  put(all, "versions", std::move(list));
  return all;
}

int show_versions(const ApiClient& client, const ShowOptions& options) {
  const auto versions =
      fetch_versions(client, options.id, std::numeric_limits<std::int64_t>::max(), kVersionsShown);
  print_result(options.output, versions_document(versions), [&] {
    Table table{{"VERSION", "AT", "ACTION", "ACTOR", "REASON"}, {}};
    for (const RemoteVersion& each : versions)
      table.rows.push_back(
          {std::to_string(each.version), instant_words(each.at), each.action, each.actor, each.reason});
    return table;
  });
  return kExitOk;
}

// As a file that can be applied again.
void print_policy(const RemotePolicy& remote, const std::string& where_from, Output output) {
  const Policy& policy = remote.policy;
  DocumentNode document = map_node();
  put(document, "policies", list_node());
  document.items.back().items.push_back(policy_document(policy));
  if (output == Output::kYaml) fmt::print("# {} version {}, {}\n", policy.id, policy.version, where_from);
  print_result(output, document, [&] { return policies_table({remote}); });
}

int show(const ShowOptions& options) {
  const SystemClock clock;
  const ApiClient client(options.server, clock);
  if (options.versions) return show_versions(client, options);
  if (!options.version) {
    const RemotePolicy found = fetch_policy(client, options.id);
    print_policy(found, found.source == "file" ? "from a file of the server" : "from the API",
                 options.output);
    return kExitOk;
  }
  const RemoteVersion found = fetch_version(client, options.id, *options.version);
  const std::string why = found.reason.empty() ? "" : ": " + found.reason;
  print_policy({*found.policy, "api"},
               fmt::format("{} by {} at {}{}", found.action, found.actor, found.at, why), options.output);
  return kExitOk;
}

}  // namespace

void add_policy_list(CLI::App& policy, int& exit_code) {
  const auto options = std::make_shared<ListOptions>();
  CLI::App* command = policy.add_subcommand("list", "The policies in force on a server");
  command->add_option("--tenant", options->tenant, "only of this tenant");
  add_output_option(*command, options->output);
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
  add_output_option(*command, options->output);
  add_server_options(*command, options->server);
  command->footer("Example:\n  sluice policy show api.read --version 46 > api.read.yaml");
  command->callback([=, &exit_code] {
    if (options->versions && command->count("--output") == 0) options->output = Output::kTable;
    exit_code = show(*options);
  });
}

}  // namespace sluice::cli

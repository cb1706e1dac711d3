#include <CLI/CLI.hpp>
#include <memory>
#include <string>

#include "base/clock.h"
#include "base/limits/hot_key_limits.h"
#include "cli/client/api_client.h"
#include "cli/command.h"
#include "cli/output/output.h"

namespace sluice::cli {
namespace {

struct HotKeysOptions {
  ClientOptions client;
  std::string tenant, policy, by = "rate";
  std::size_t limit = 20;
  Output output = Output::kTable;
};

Table hot_keys_table(const DocumentNode& answer) {
  Table table{{"KEY", "TENANT", "POLICY", "LIMIT", "CHECKS/S", "DENIED/S", "LEASED"}, {}};
  for (const DocumentNode& key : list_of(answer, "hotkeys"))
    table.rows.push_back({text_of(key, "key"), text_of(key, "tenant_id"), text_of(key, "policy_id"),
                          text_of(key, "limit"), text_of(key, "rate"), text_of(key, "denied_rate"),
                          text_of(key, "leased") == "true" ? "yes" : "no"});
  return table;
}

int print_hot_keys(const HotKeysOptions& options) {
  const SystemClock clock;
  const DocumentNode answer =
      ApiClient(options.client, clock)
          .call({.path = path_with("/v1/hotkeys", {{"by", options.by},
                                                   {"limit", std::to_string(options.limit)},
                                                   {"tenant_id", options.tenant},
                                                   {"policy_id", options.policy}})});
  print_result(options.output, answer, [&] { return hot_keys_table(answer); });
  return kExitOk;
}

}  // namespace

void add_hotkeys(CLI::App& app, int& exit_code) {
  const auto options = std::make_shared<HotKeysOptions>();
  CLI::App* command = app.add_subcommand("hotkeys", "The busiest keys of one node, or the most denied");
  add_server_options(*command, options->client);
  command->add_option("--tenant", options->tenant, "only of this tenant");
  command->add_option("--policy", options->policy, "only of this policy");
  command->add_option("--by", options->by, "order: rate or denied")
      ->check(CLI::IsMember({"rate", "denied"}))
      ->capture_default_str();
  command->add_option("--limit", options->limit, "how many")
      ->check(CLI::Range(std::size_t{1}, kHotKeysListedMax))
      ->capture_default_str();
  add_output_option(*command, options->output);
  command->footer("Example:\n  sluice hotkeys --by denied --policy api.read");
  command->callback([options, &exit_code] { exit_code = print_hot_keys(*options); });
}

}  // namespace sluice::cli

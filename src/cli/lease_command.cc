#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "cli/client/api_client.h"
#include "cli/command.h"
#include "cli/output/output.h"

namespace sluice::cli {
namespace {

struct LeaseOptions {
  ClientOptions client;
  std::string tenant, policy;
  Output output = Output::kTable;
};

Table leases_table(const DocumentNode& answer) {
  const std::int64_t now_ms = WallClock().now_us() / 1000;
  Table table{{"LEASE", "TENANT", "POLICY", "RESOURCE", "GRANTED", "EXPIRES IN"}, {}};
  for (const DocumentNode& lease : list_of(answer, "leases")) {
    const std::int64_t left_ms = number_of(lease, "expires_unix_ms") - now_ms;
    table.rows.push_back({text_of(lease, "lease_id"), text_of(lease, "tenant_id"),
                          text_of(lease, "policy_version"), text_of(lease, "resource"),
                          std::to_string(number_of(lease, "granted")),
                          fmt::format("{:.1f} s", static_cast<double>(left_ms) / 1000)});
  }
  return table;
}

int list(const LeaseOptions& options) {
  const SystemClock clock;
  const DocumentNode answer = ApiClient(options.client, clock)
                                  .call({.path = path_with("/v1/leases", {{"tenant_id", options.tenant},
                                                                          {"policy_id", options.policy}})});
  print_result(options.output, answer, [&] { return leases_table(answer); });
  return kExitOk;
}

}  // namespace

void add_lease(CLI::App& app, int& exit_code) {
  const auto options = std::make_shared<LeaseOptions>();
  CLI::App* command =
      app.add_subcommand("lease", "Leases: units that holders have taken and spend without asking");
  command->require_subcommand(1);
  command->footer("Example:\n  sluice lease list --tenant search-service");
  CLI::App* listing =
      command->add_subcommand("list", "The leases of one node that have neither expired nor been returned");
  add_server_options(*listing, options->client);
  listing->add_option("--tenant", options->tenant, "only of this tenant");
  listing->add_option("--policy", options->policy, "only of this policy");
  add_output_option(*listing, options->output);
  listing->footer("Example:\n  sluice lease list --tenant search-service");
  listing->callback([options, &exit_code] { exit_code = list(*options); });
}

}  // namespace sluice::cli

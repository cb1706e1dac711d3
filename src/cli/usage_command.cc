#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/text/encode.h"
#include "base/text/number_text.h"
#include "cli/client/api_client.h"
#include "cli/command.h"
#include "cli/output/output.h"
#include "cli/output/words.h"
#include "cli/request_flags.h"
#include "document/document_builder.h"

namespace sluice::cli {
namespace {

struct UsageOptions {
  ClientOptions server;
  RequestFlags request;
  bool shared = false;
  Output output = Output::kTable;
};

std::string usage_path(const RequestFlags& request) {
  std::string path = path_with("/v1/usage", {{"policy_id", request.policy},
                                             {"tenant_id", request.tenant},
                                             {"resource", request.resource},
                                             {"key", request.key}});
  for (const auto& [name, value] : request.named_values())
    path +=
        fmt::format("{}{}={}", path.contains('?') ? '&' : '?', percent_encode(name), percent_encode(value));
  return path;
}

Table usage_table(const DocumentNode& answer) {
  const std::int64_t now_ms = WallClock().now_us() / 1000;
  Table table{{"LIMIT", "PER", "RATE", "USED", "LEFT", "STATE", "ALL FREE IN"}, {}};
  for (const DocumentNode& usage : list_of(answer, "usages")) {
    const DocumentNode& quota = member_of(usage, "quota");
    std::vector<std::string> per;
    for (const DocumentNode& name : list_of(quota, "per")) per.push_back(name.text);
    table.rows.push_back({text_of(quota, "name"), per_words(per),
                          rate_words(number_of(quota, "limit"), number_of(quota, "period_ms") * 1000),
                          text_of(usage, "current"), text_of(usage, "remaining"), text_of(usage, "state"),
                          wait_words(number_of(usage, "reset_unix_ms") - now_ms)});
  }
  return table;
}

int show_usage(const UsageOptions& options) {
  const SystemClock clock;
  const DocumentNode answer = ApiClient(options.server, clock).call({.path = usage_path(options.request)});
  print_result(options.output, answer, [&] { return usage_table(answer); });
  return kExitOk;
}

int reset_counters(const UsageOptions& options) {
  DocumentNode body = map_node();
  put_text(body, "policy_id", options.request.policy);
  put_text(body, "tenant_id", options.request.tenant);
  put_text(body, "resource", options.request.resource);
  put_text(body, "key", options.request.key);
  if (const auto named = options.request.named_values(); !named.empty()) {
    DocumentNode dimensions = map_node();
    for (const auto& [name, value] : named) put(dimensions, name, text_node(value));
    put(body, "dimensions", std::move(dimensions));
  }
  put_true(body, "shared", options.shared);
  put_text(body, "reason", options.server.reason);
  ClientOptions server = options.server;
  server.reason.clear();  // the body has it
  const SystemClock clock;
  const DocumentNode answer =
      ApiClient(server, clock)
          .call({.method = "POST", .path = "/v1/reset", .body = document_output(body, Output::kJson)});
  print_result(options.output, answer, [&] {
    const std::int64_t count = number_of(answer, "reset");
    if (count == 0) return std::string("nothing was used, so nothing was reset\n");
    return fmt::format("{} counter{} reset\n", count, count == 1 ? "" : "s");
  });
  return kExitOk;
}

}  // namespace

void add_usage(CLI::App& app, int& exit_code) {
  const auto options = std::make_shared<UsageOptions>();
  CLI::App* command = app.add_subcommand("usage", "How much of each limit a key has used; charges nothing");
  add_request_flags(*command, options->request);
  add_output_option(*command, options->output);
  add_server_options(*command, options->server);
  command->footer("Example:\n  sluice usage --tenant search-service --resource /search --key user_123");
  command->callback([options, &exit_code] { exit_code = show_usage(*options); });
}

void add_reset(CLI::App& app, int& exit_code) {
  const auto options = std::make_shared<UsageOptions>();
  CLI::App* command =
      app.add_subcommand("reset", "Forget what a key has used, but not what it shares with others");
  add_request_flags(*command, options->request);
  command->add_flag("--shared", options->shared,
                    "also reset the counters that others share, such as the cap of the whole tenant");
  add_reason_option(*command, options->server);
  add_output_option(*command, options->output);
  add_server_options(*command, options->server);
  command->footer(
      "Example:\n  sluice reset --tenant search-service --resource /search --key user_123 --reason 'wrong "
      "deploy'");
  command->callback([options, &exit_code] { exit_code = reset_counters(*options); });
}

}  // namespace sluice::cli

#include "cli/admin/audit_list_command.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>
#include <string>

#include "cli/client/api_client.h"
#include "cli/command.h"
#include "cli/output/output.h"
#include "cli/output/words.h"

namespace sluice::cli {
namespace {

struct AuditListOptions {
  ClientOptions server;
  std::string kind, name, actor, action;
  std::int64_t limit = 20;
  std::int64_t below = 0;  // 0: from the newest on
  Output output = Output::kTable;
};

Table entries_table(const DocumentNode& answer) {
  Table table{{"REVISION", "AT", "ACTOR", "ACTION", "WHAT", "REASON"}, {}};
  for (const DocumentNode& entry : list_of(answer, "entries"))
    table.rows.push_back({text_of(entry, "revision"), instant_words(text_of(entry, "at")),
                          text_of(entry, "actor"), text_of(entry, "action"),
                          fmt::format("{} {}", text_of(entry, "kind"), text_of(entry, "name")),
                          optional_text_of(entry, "reason")});
  return table;
}

int list_entries(const AuditListOptions& options) {
  const SystemClock clock;
  const DocumentNode answer =
      ApiClient(options.server, clock)
          .call({.path = path_with("/v1/audit",
                                   {{"kind", options.kind},
                                    {"name", options.name},
                                    {"actor", options.actor},
                                    {"action", options.action},
                                    {"limit", std::to_string(options.limit)},
                                    {"below", options.below == 0 ? "" : std::to_string(options.below)}})});
  print_result(options.output, answer, [&] { return entries_table(answer); });
  if (const std::string next = optional_text_of(answer, "next");
      options.output == Output::kTable && !next.empty())
    fmt::print(stderr, "There are older ones: --below {}\n", next);
  return kExitOk;
}

}  // namespace

void add_audit_list(CLI::App& audit, int& exit_code) {
  const auto options = std::make_shared<AuditListOptions>();
  CLI::App* command = audit.add_subcommand("list", "Who changed what, when and why, the newest first");
  command->add_option("--kind", options->kind, "only about these")
      ->check(CLI::IsMember({"policy", "user", "token", "rollout", "switch", "event", "retention"}));
  command->add_option("--name", options->name, "only about the policy, user or token of this name");
  command->add_option("--actor", options->actor, "only by this one: loopback, 'token ops-1'");
  command->add_option("--action", options->action, "only these: put, delete, rollback, reset");
  command->add_option("--limit", options->limit, "how many")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1000}))
      ->capture_default_str();
  command->add_option("--below", options->below, "only older than this revision")->check(CLI::PositiveNumber);
  add_output_option(*command, options->output);
  add_server_options(*command, options->server);
  command->footer("Example:\n  sluice audit list --kind policy --name api.read");
  command->callback([options, &exit_code] { exit_code = list_entries(*options); });
}

}  // namespace sluice::cli

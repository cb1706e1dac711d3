#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <expected>
#include <fstream>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/text/number_text.h"
#include "cli/command.h"
#include "cli/output/terminal.h"
#include "cli/policy/remote_policies.h"
#include "cli/serve/brief_help.h"
#include "plan/plan_run.h"
#include "plan/threshold.h"
#include "server/setup/key_secrets.h"

namespace sluice::cli {

using server::read_key_secrets;
namespace {

struct PlanCommand {
  plan::PlanOptions plan;
  ClientOptions server;  // of --against URL
  std::string format = "auto";
  std::string output = "table";
  std::string html_file;
  bool pseudonyms = false;
  std::string key_secrets;
  std::optional<plan::Threshold> newly_denied_max;
  plan::Threshold bad_lines_max = plan::Threshold::parse("1%").value();
};

void write_file(const std::string& path, const std::string& text) {
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file << text;
  file.close();
  if (!file) throw CommandError(fmt::format("cannot write {}; choose another file for --html", path));
}

std::string rendered(const plan::Report& report, const std::string& output) {
  if (output == "json") return plan::to_json(report);
  return output == "html" ? plan::to_html(report) : plan::to_table(report);
}

std::shared_ptr<const Pseudonyms> pseudonyms(const PlanCommand& command) {
  if (command.key_secrets.empty()) return command.pseudonyms ? std::make_shared<const Pseudonyms>() : nullptr;
  const std::int64_t now_us = WallClock().now_us();
  SecretRing ring;
  if (const auto taken = ring.take(read_key_secrets(command.key_secrets, now_us, ring), now_us); !taken)
    throw CommandError(taken.error().message);
  return std::make_shared<const Pseudonyms>(ring.secret(), now_us);
}

bool is_url(const std::string& text) { return text.starts_with("http://") || text.starts_with("https://"); }

// With --against URL, the policies in force on that server.
void fetch_in_force(PlanCommand& command) {
  const std::vector<std::string>& against = command.plan.against;
  if (std::ranges::none_of(against, is_url)) return;
  if (against.size() > 1) throw CommandError("--against takes files, or one server, but not both");
  command.server.server = against.front();
  const SystemClock clock;
  command.plan.in_force.emplace();
  for (RemotePolicy& each : fetch_policies(ApiClient(command.server, clock), ""))
    command.plan.in_force->push_back(std::move(each.policy));
}

// A line on the terminal that counts requests, and is gone at the end. Nothing elsewhere.
class Progress {
 public:
  Progress() : is_shown_(Terminal::of(stderr).is_terminal) {}
  ~Progress() {
    if (is_shown_) fmt::print(stderr, "\r\x1b[K");
  }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  std::function<void(std::uint64_t)> teller() const {
    if (!is_shown_) return {};
    return [](std::uint64_t requests) {
      fmt::print(stderr, "\r{} requests replayed", grouped(requests));
      std::fflush(stderr);
    };
  }

 private:
  const bool is_shown_;
};

std::expected<plan::Report, std::string> replay(PlanCommand& command) {
  const Progress progress;
  command.plan.progress = progress.teller();
  return plan::run_plan(command.plan);
}

int run(PlanCommand& command) {
  fetch_in_force(command);
  command.plan.pseudonyms = pseudonyms(command);
  command.plan.format = plan::log_format_from_string(command.format);  // none for "auto"
  const auto report = replay(command);
  if (!report) throw CommandError(report.error());
  if (!command.html_file.empty()) write_file(command.html_file, plan::to_html(*report));
  const std::string text = rendered(*report, command.output);
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() || std::fflush(stdout) != 0)
    throw CommandError("cannot write the report to standard output");

  const plan::LogCounts& lines = report->lines;
  if (command.bad_lines_max.is_exceeded(lines.bad, lines.lines))
    throw CommandError(
        fmt::format("{} of {} lines could not be read, more than --max-bad-lines {}; see --format", lines.bad,
                    lines.lines, command.bad_lines_max.text()));
  const plan::Totals& totals = report->totals;
  if (!command.newly_denied_max ||
      !command.newly_denied_max->is_exceeded(totals.newly_denied, totals.requests))
    return kExitOk;
  fmt::print(stderr, "sluice: {} of {} requests would be newly denied, more than --max-newly-denied {}\n",
             totals.newly_denied, totals.requests, command.newly_denied_max->text());
  return kExitDenied;
}

template <class T>
void add_threshold(CLI::App& app, const char* name, T& out, const char* help) {
  app.add_option_function<std::string>(
         name,
         [name, &out](const std::string& text) {
           const auto parsed = plan::Threshold::parse(text);
           if (!parsed) throw CLI::ValidationError(name, parsed.error());
           out = *parsed;
         },
         help)
      ->type_name("N|P%");
}

void add_options(CLI::App& app, PlanCommand& command) {
  plan::PlanOptions& options = command.plan;
  app.add_option("logs", options.logs, "access logs or usage events, .gz too; - is standard input")
      ->required()
      ->type_name("LOG");
  app.add_option("--policies", options.policies, "the policies to try; may be repeated")
      ->required()
      ->type_name("FILE|DIR")
      ->allow_extra_args(false);  // what follows is a log
  app.add_option(
         "--against", options.against,
         "the current policies, to compare with: files, or the URL of a server, of whose policies the new "
         "ones replace those with the same id")
      ->type_name("FILE|DIR|URL")
      ->allow_extra_args(false);  // what follows is a log
  auto formats = CLI::IsMember({"auto", "common", "combined", "json", "events"});
  app.add_option("--format", command.format, "auto, common, combined, json or events (auto)")
      ->check(formats.description(""))
      ->type_name("F");
  auto* tenant = app.add_option("--tenant", options.rules.tenant, "tenant of every line")->type_name("T");
  app.add_option("--tenant-from", options.rules.tenant_from, "field that names the tenant (tenant)")
      ->type_name("FIELD")
      ->excludes(tenant);
  app.add_option("--key", options.rules.key, "field that is the key (user, else ip)")->type_name("FIELD");
  app.add_option("--cost", options.rules.cost, "field that holds the cost (none)")->type_name("FIELD");
  app.add_option("--map", options.rules.maps, "dimension=field; may be repeated")
      ->type_name("D=F")
      ->allow_extra_args(false);  // what follows is a log
  auto statuses = CLI::Range(100, 599);
  app.add_option("--denied-status", options.rules.denied_status,
                 "HTTP status of requests that were denied then (429)")
      ->type_name("CODE")
      ->check(statuses.description(""));
  add_threshold(app, "--max-newly-denied", command.newly_denied_max,
                "exit status 1 if more are newly denied");
  add_threshold(app, "--max-bad-lines", command.bad_lines_max, "exit status 2 if more can't be read (1%)");
  auto top = CLI::Range(std::size_t{1}, kPlanTopMax);
  app.add_option("--top", options.top, "rows of the tables of keys and resources (10)")
      ->type_name("N")
      ->check(top.description(""));
  auto outputs = CLI::IsMember({"table", "json", "html"});
  app.add_option("--output", command.output, "table, json or html, to standard output (table)")
      ->check(outputs.description(""))
      ->type_name("O");
  app.add_option("--html", command.html_file, "write the HTML report, with plots, to a file")
      ->type_name("FILE");
  app.add_flag("--pseudonyms", command.pseudonyms, "show pseudonyms instead of keys, users and addresses");
  app.add_option("--key-secrets", command.key_secrets,
                 "the same pseudonyms all day for everyone who has this file")
      ->type_name("FILE");
  app.add_option("--denials", options.denials_file, "write each denial as a line of JSON to a file")
      ->type_name("FILE");
  add_access_options(app, command.server);
  for (const char* name : {"--token", "--token-file", "--ca", "--client-cert", "--client-key"})
    app.get_option(name)->group(kMoreSettings);
  make_help_brief(app);
}

}  // namespace

void add_plan(CLI::App& app, int& exit_code) {
  const auto command = std::make_shared<PlanCommand>();
  CLI::App* plan = app.add_subcommand(
      "plan", "Replay a traffic log against policies: who would have been denied, when, by which limit");
  add_options(*plan, *command);
  plan->footer(
      "Example:\n  sluice plan access.log --policies new.yaml --tenant shop --max-newly-denied 0.1% --html "
      "plan.html\n"
      "Exit status: 0, 1 too many newly denied, 2 error.");
  plan->callback([command, &exit_code] { exit_code = run(*command); });
}

}  // namespace sluice::cli

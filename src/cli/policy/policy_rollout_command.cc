#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/text/encode.h"
#include "cli/client/api_client.h"
#include "cli/command.h"
#include "cli/output/output.h"
#include "cli/policy/policy_commands.h"
#include "cli/policy/wanted_policies.h"
#include "document/document_builder.h"
#include "document/literals.h"
#include "policy/document/policy_writer.h"

namespace sluice::cli {
namespace {

struct RolloutOptions {
  ClientOptions server;
  std::string id;
  std::string file;
  std::string stages;
  bool compare = false;
  std::optional<std::int64_t> min_samples, sigmas;
  bool confirmed = false;
  Output output = Output::kTable;
};

std::string path_of(const std::string& id) {
  return fmt::format("/v1/policies/{}/rollout", percent_encode(id));
}

// "1%:10m,100%:1h"; the server validates the numbers.
DocumentNode stages_of(const std::string& text) {
  DocumentNode list = list_node();
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    const std::string stage = text.substr(begin, end - begin);
    begin = end + 1;
    const std::size_t colon = stage.find(':');
    std::string percent = stage.substr(0, colon);
    if (percent.ends_with('%')) percent.pop_back();
    const auto number = parse_integer(percent);
    if (colon == std::string::npos || !number)
      throw CommandError(
          fmt::format("--stages: {} is not a stage; write PERCENT:HOLD, as in 1%:10m,100%:1h", shown(stage)));
    DocumentNode& one = list.items.emplace_back(map_node());
    put(one, "percent", number_node(*number));
    put(one, "hold", text_node(stage.substr(colon + 1)));
  }
  return list;
}

Policy candidate_of(const RolloutOptions& options) {
  for (Policy& policy : read_wanted_policies({options.file}))
    if (policy.id == options.id) return std::move(policy);
  throw CommandError(fmt::format("{} has no policy {}", options.file, options.id));
}

std::string percent_text(const std::string& rate) {
  return fmt::format("{:.2f} %", 100 * std::strtod(rate.c_str(), nullptr));
}

// "live       9950 allowed, 50 denied (0.50 %)"
std::string tally_line(const DocumentNode& samples, std::string_view version) {
  const DocumentNode* tally = samples.find(version);
  if (!tally) return "";
  return fmt::format("  {:<10} {} allowed, {} denied ({})\n", version, number_of(*tally, "allowed"),
                     number_of(*tally, "denied"), percent_text(text_of(*tally, "denial_rate")));
}

std::string next_line(const DocumentNode& next) {
  const std::string step = optional_text_of(next, "step");
  if (step == "advance")
    return fmt::format("  next       {} % at {}\n", number_of(next, "percent"), text_of(next, "at"));
  if (step == "finish") return fmt::format("  next       the end at {}\n", text_of(next, "at"));
  if (step == "wait") return "  next       `advance` or `abort`: the last stage waits for an operator\n";
  return "";
}

void print_rollout(const DocumentNode& rollout, Output output) {
  if (output != Output::kTable) return fmt::print("{}", document_output(rollout, output));
  fmt::print("{}: {}, stage {} of {}, {} % of keys, from version {}\n", text_of(rollout, "policy_id"),
             text_of(rollout, "state"), number_of(rollout, "stage"),
             rollout.find("stages") ? rollout.find("stages")->items.size() : 0, number_of(rollout, "percent"),
             number_of(rollout, "base_version"));
  if (const std::string note = optional_text_of(rollout, "note"); !note.empty())
    fmt::print("  because    {}\n", note);
  if (const DocumentNode* next = rollout.find("next")) fmt::print("{}", next_line(*next));
  if (const DocumentNode* samples = rollout.find("samples"))
    fmt::print("{}{}", tally_line(*samples, "live"), tally_line(*samples, "candidate"));
  if (const std::string excess = optional_text_of(rollout, "excess_sigmas"); !excess.empty())
    fmt::print("  excess     {} standard deviations\n", excess);
  const DocumentNode* differences = rollout.find("differences");
  if (differences && number_of(*differences, "compared") > 0)
    fmt::print("  compared   {}: {} newly denied, {} newly allowed\n", number_of(*differences, "compared"),
               number_of(*differences, "newly_denied"), number_of(*differences, "newly_allowed"));
}

int start(const RolloutOptions& options) {
  DocumentNode body = map_node();
  put(body, "policy", policy_document(candidate_of(options)));
  if (!options.stages.empty()) put(body, "stages", stages_of(options.stages));
  put_true(body, "compare", options.compare);
  if (options.min_samples) put(body, "min_samples", number_node(*options.min_samples));
  if (options.sigmas) put(body, "sigmas", number_node(*options.sigmas));
  const SystemClock clock;
  const ApiClient client(options.server, clock);
  print_rollout(
      client.call({.method = "POST",
                   .path = path_of(options.id) + (options.confirmed ? "?confirm=deny-everyone" : ""),
                   .body = document_output(body, Output::kJson)}),
      options.output);
  return kExitOk;
}

int change(const RolloutOptions& options, const char* method, std::string_view where) {
  const SystemClock clock;
  const ApiClient client(options.server, clock);
  print_rollout(client.call({.method = method, .path = path_of(options.id) + std::string(where)}),
                options.output);
  return kExitOk;
}

int list(const RolloutOptions& options) {
  const SystemClock clock;
  const ApiClient client(options.server, clock);
  std::string after;
  do {
    const DocumentNode page = client.call({.path = "/v1/rollouts?after=" + percent_encode(after)});
    if (const DocumentNode* rollouts = page.find("rollouts"))
      for (const DocumentNode& each : rollouts->items) print_rollout(each, options.output);
    after = optional_text_of(page, "next");
  } while (!after.empty());
  return kExitOk;
}

std::shared_ptr<RolloutOptions> common_options(CLI::App& command) {
  auto options = std::make_shared<RolloutOptions>();
  add_server_options(command, options->server);
  add_output_option(command, options->output);
  return options;
}

void add_start(CLI::App& rollout, int& exit_code) {
  CLI::App* command =
      rollout.add_subcommand("start", "Begin: the policy of that id in FILE is the candidate");
  const auto options = common_options(*command);
  command->add_option("id", options->id, "the policy; it is in force already")->required();
  command->add_option("file", options->file, "where its new version is written")->required();
  command->add_option("--stages", options->stages, "PERCENT:HOLD,… (1%:10m,10%:10m,100%:10m)");
  command->add_flag("--compare", options->compare,
                    "also ask the candidate about all traffic, and count where it decides differently");
  command->add_option("--min-samples", options->min_samples,
                      "decisions of each before they are compared (1000)");
  command->add_option("--sigmas", options->sigmas,
                      "roll back when its denial rate is higher by this many standard deviations (2)");
  command->add_flag("--confirm-denies-everyone", options->confirmed, "even if it denies every request");
  add_reason_option(*command, options->server);
  command->footer("Example:\n  sluice policy rollout start api.read new.yaml --stages 1%:10m,10%:1h,100%:1h");
  command->callback([options, &exit_code] { exit_code = start(*options); });
}

void add_step(CLI::App& rollout, const char* name, const char* what, const char* method,
              std::string_view where, int& exit_code) {
  CLI::App* command = rollout.add_subcommand(name, what);
  const auto options = common_options(*command);
  command->add_option("id", options->id, "the policy")->required();
  add_reason_option(*command, options->server);
  command->callback([=, &exit_code] { exit_code = change(*options, method, where); });
}

}  // namespace

void add_policy_rollout(CLI::App& policy, int& exit_code) {
  CLI::App* rollout = policy.add_subcommand(
      "rollout", "Bring a new version of a policy into force in stages, and back if it denies too much");
  rollout->require_subcommand(1);
  rollout->footer(
      "Example:\n  sluice policy rollout start api.read new.yaml --compare\n"
      "  sluice policy rollout status api.read\n  sluice policy rollout abort api.read --reason 'not today'");
  add_start(*rollout, exit_code);
  CLI::App* status = rollout->add_subcommand("status", "Show the rollout of one policy, or of all");
  const auto options = common_options(*status);
  status->add_option("id", options->id, "the policy; absent: all that have had a rollout");
  status->callback([options, &exit_code] {
    exit_code = options->id.empty() ? list(*options) : change(*options, "GET", "");
  });
  add_step(*rollout, "advance", "Go to the next stage now; from the last, finish", "POST", "/advance",
           exit_code);
  add_step(*rollout, "abort", "Stop the rollout; the version in force decides everything again", "DELETE", "",
           exit_code);
}

}  // namespace sluice::cli

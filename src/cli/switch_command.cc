#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/limits.h"
#include "base/limits/switch_limits.h"
#include "base/time_units.h"
#include "cli/client/api_client.h"
#include "cli/command.h"
#include "cli/output/output.h"
#include "document/document_builder.h"
#include "document/document_text.h"
#include "document/literals.h"

namespace sluice::cli {
namespace {

struct SwitchOptions {
  std::vector<std::string> servers = {ClientOptions().server};
  // The same for all servers. One that hangs must not delay the others.
  ClientOptions access{.call_seconds = 10};
  std::string ttl;  // as given; empty: the server's default
  Output output = Output::kTable;
};

// "90s", "2h", or a number of seconds.
std::int64_t seconds_of(const std::string& ttl) {
  const auto number = parse_integer(ttl);
  const auto duration_us = number ? Literal<std::int64_t>(0) : parse_duration_us(ttl);
  const std::int64_t seconds = number ? *number : duration_us.value_or(0) / kSecondUs;
  const bool is_whole = number || (duration_us && *duration_us % kSecondUs == 0);
  if (is_whole && seconds >= kSwitchSecondsMin && seconds <= kSwitchSecondsMax) return seconds;
  throw CommandError(fmt::format("--ttl {}: write a duration from 1s to 7d, for example 30m", ttl));
}

std::string order(std::string_view mode, const SwitchOptions& options) {
  DocumentNode body = map_node();
  put(body, "mode", text_node(mode));
  put_text(body, "reason", options.access.reason);
  if (!options.ttl.empty()) put(body, "ttl_seconds", number_node(seconds_of(options.ttl)));
  std::string json;
  append_json(body, json);
  return json;
}

// "127.0.0.1:8080: open until 2026-12-01T13:00:00Z (token ops-1: store is slow)"
std::string sentence(const std::string& server, const DocumentNode& answer) {
  const std::string until = optional_text_of(answer, "until"), actor = optional_text_of(answer, "actor"),
                    reason = optional_text_of(answer, "reason");
  std::string out = fmt::format("{}: {}", server, text_of(answer, "mode"));
  if (!until.empty()) out += " until " + until;
  if (!actor.empty()) out += fmt::format(" ({}{}{})", actor, reason.empty() ? "" : ": ", reason);
  return out;
}

DocumentNode ask(ClientOptions access, const std::string& server, const ApiCall& call) {
  const SystemClock clock;
  access.server = server;
  access.reason.clear();  // the body has it
  const ApiClient client(access, clock);
  const HttpAnswer answer = client.send(call);
  try {
    DocumentNode state = client.read(answer);
    put(state, "server", text_node(server));
    return state;
  } catch (const CommandError& refused) {
    throw CommandError(fmt::format("{}: {}", server, refused.what()));
  }
}

// One unreachable node must not keep the command from the others.
int ask_all(const SwitchOptions& options, const std::string& method, const std::string& json) {
  int exit_code = kExitOk;
  for (const std::string& server : options.servers) {
    try {
      const DocumentNode state =
          ask(options.access, server, {.method = method, .path = "/v1/switch", .body = json});
      print_result(options.output, state, [&] { return sentence(server, state) + '\n'; });
    } catch (const CommandError& e) {
      fmt::print(stderr, "sluice: {}\n", e.what());
      exit_code = kExitError;
    }
  }
  return exit_code;
}

void add_options(CLI::App& command, SwitchOptions& options, bool is_change) {
  command.add_option("--server", options.servers, "http(s)://HOST:PORT; several with commas between them")
      ->delimiter(',')
      ->capture_default_str()
      ->envname("SLUICE_SERVER");
  add_access_options(command, options.access);
  add_output_option(command, options.output);
  if (is_change) add_reason_option(command, options.access);
}

}  // namespace

void add_switch(CLI::App& app, int& exit_code) {
  const auto options = std::make_shared<SwitchOptions>();
  CLI::App* command = app.add_subcommand(
      "switch", "The big red switch: while it is open every check is allowed, on every node");
  command->require_subcommand(1);
  command->footer(
      "One server is enough: the others follow through the policy database within a second. If that is "
      "down,\n"
      "name every server.\n"
      "Example:\n  sluice switch open --reason \"store is slow\" --ttl 30m\n  sluice switch normal");

  CLI::App* open = command->add_subcommand("open", "Allow every check, for an hour unless told otherwise");
  add_options(*open, *options, true);
  open->add_option("--ttl", options->ttl, "back to normal after that: 1s to 7d; default 1h");
  open->footer("Example:\n  sluice switch open --reason \"store is slow\" --ttl 30m");
  open->callback([options, &exit_code] { exit_code = ask_all(*options, "PUT", order("open", *options)); });

  CLI::App* normal = command->add_subcommand("normal", "Decide checks again");
  add_options(*normal, *options, true);
  normal->footer("Example:\n  sluice switch normal --reason \"store is back\"");
  normal->callback(
      [options, &exit_code] { exit_code = ask_all(*options, "PUT", order("normal", *options)); });

  CLI::App* status = command->add_subcommand("status", "Show the state of the switch");
  add_options(*status, *options, false);
  status->footer("Example:\n  sluice switch status --server 10.0.0.1:8080,10.0.0.2:8080");
  status->callback([options, &exit_code] { exit_code = ask_all(*options, "GET", ""); });
}

}  // namespace sluice::cli

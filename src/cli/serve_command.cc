#include <fmt/format.h>
#include <signal.h>

#include <CLI/CLI.hpp>
#include <exception>
#include <memory>
#include <string>
#include <vector>

#include "cli/command.h"
#include "cli/node.h"
#include "cli/serve_options.h"
#include "cli/signals.h"
#include "telemetry/log.h"

namespace sluice::cli {
namespace {

// SIGHUP: the policies are read again, and the settings; of these the log level, the place of the store and
// the cells can change while we run.
void reload(Node& node, const std::vector<std::string>& arguments, ServeOptions& running) {
  node.reload_policies();
  try {
    const ServeOptions fresh = read_serve_options(arguments);
    set_log_level(fresh.log_level);
    running.log_level = fresh.log_level;
    if (node.take_settings(fresh)) {
      running.store = fresh.store;
      running.key_prefix = fresh.key_prefix;
      running.cells = fresh.cells;
    }
    if (fresh != running)
      log(LogLevel::kWarning,
          "some changed settings need a restart; only --log-level, a --store that is Redis before and after, "
          "and the content of --cells are taken over at once");
  } catch (const std::exception& e) {  // whatever is wrong with the file, we go on
    log(LogLevel::kError, fmt::format("{}; the settings in force stay", e.what()));
  }
}

// Load balancers get time to see "not ready" before connections are refused. A second signal cuts either wait
// short.
void stop(Node& node, Signals& signals, const ServeOptions& options) {
  constexpr int kLookEveryMs = 20;
  log(LogLevel::kInfo, "stopping: not ready from now on, requests in flight finish");
  node.announce_drain();
  signals.wait_ms(static_cast<int>(options.drain_notice_ms));
  node.begin_drain();
  while (!node.is_idle() && !signals.wait_ms(kLookEveryMs)) {
  }
  log(LogLevel::kInfo, node.is_idle() ? "stopped" : "stopped, with requests in flight");
}

int run(const std::vector<std::string>& arguments) {
  ServeOptions options = read_serve_options(arguments);
  set_log_level(options.log_level);
  Signals signals;
  Node node(options);
  log(LogLevel::kInfo, fmt::format("sluice {} listening on {}", SLUICE_VERSION, node.address()));
  while (signals.wait() == SIGHUP) reload(node, arguments, options);
  stop(node, signals, options);
  return kExitOk;
}

}  // namespace

void add_serve(CLI::App& app, std::vector<std::string> arguments, int& exit_code) {
  const auto options = std::make_shared<ServeOptions>();
  CLI::App* command = app.add_subcommand("serve", "Start the server");
  add_serve_options(*command, *options);
  command->footer(
      "Every setting is also SLUICE_<FLAG> in the environment. SIGHUP rereads policies, SIGTERM stops "
      "gracefully.\n"
      "Example:\n  sluice serve --policies examples/policies.yaml");
  // Parsing here is for --help and usage errors; `options` only receives it.
  command->callback([options, arguments = std::move(arguments), &exit_code] { exit_code = run(arguments); });
}

}  // namespace sluice::cli

#include <fmt/format.h>
#include <signal.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdint>
#include <exception>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/limits/connection_limits.h"
#include "base/limits/switch_limits.h"
#include "base/memory/memory_reserve.h"
#include "cli/command.h"
#include "cli/serve/serve_flags.h"
#include "server/node.h"
#include "server/process/end_guard.h"
#include "server/process/reloader.h"
#include "server/process/signals.h"
#include "server/process/switch_file.h"
#include "telemetry/log/log.h"

namespace sluice::cli {

using server::EndGuard;
using server::Node;
using server::Reloader;
using server::Signals;
using server::SwitchFile;
namespace {

void take_log_settings(const ServeOptions& options) {
  set_log_level(options.log_level);
  set_log_format(options.log_format == "json" ? LogFormat::kJson : LogFormat::kConsole);
}

// SIGHUP: reloads the policies, the certificates and the settings. Of the settings, the log level, the
// identities, the address of the store and the cells can change at run time.
void reload(Node& node, const std::vector<std::string>& arguments, ServeOptions& running) {
  try {
    node.reload_policies();
    node.follow_tls_files();
    const ServeOptions fresh = read_serve_options(arguments);
    if (node.take_settings(fresh)) {  // first, because it may refuse
      running.store = fresh.store;
      running.key_prefix = fresh.key_prefix;
      running.cells = fresh.cells;
    }
    take_log_settings(fresh);
    running.log_level = fresh.log_level;
    running.log_format = fresh.log_format;
    node.reload_identities(fresh);
    running.identities = fresh.identities;
    node.settings_status().note_taken();
    log(LogEvent::kSettingsTaken, "the settings were read again");
    if (fresh != running)
      log(LogEvent::kSettingsNeedRestart,
          "some changed settings need a restart; only --log-level, --log-format, --key-prefix, a --store "
          "that "
          "is Redis before and after, and the contents of --identities, --cells and --key-secrets are taken "
          "over at once");
  } catch (const std::exception& e) {  // keep running, whatever is wrong with the file
    node.settings_status().note_refused(e.what());
    log(LogEvent::kSettingsRefused, fmt::format("{}; keeping the current settings", e.what()));
  }
}

// It takes seconds to find that a new store is silent; signals must not wait for that.
std::unique_ptr<Reloader> make_reloader(Node& node, const std::vector<std::string>& arguments,
                                        const ServeOptions& options) {
  return std::make_unique<Reloader>([&node, arguments, running = options]() mutable {
    try {
      reload(node, arguments, running);
    } catch (const std::bad_alloc&) {
      log(LogEvent::kNodeOutOfMemory, "out of memory while reloading the settings; send SIGHUP again");
    }
  });
}

// Load balancers get time to see "not ready" before connections are refused. Then requests get time to
// finish, and the parts of the node to shut down. A second signal ends all of it, and the time limit holds
// whatever any part waits for.
void stop(std::unique_ptr<Node> node, std::unique_ptr<Reloader> reloader, Signals& signals,
          const ServeOptions& options) {
  constexpr std::uint64_t kPutAwayMs = 500;
  const SystemClock clock;
  const std::uint64_t all_ms = options.drain_notice_ms + options.drain_seconds * 1'000 + kPutAwayMs;
  const EndGuard guard(signals, clock, static_cast<std::int64_t>(all_ms) * 1'000);
  log(LogEvent::kNodeStopping, "stopping: reporting not ready, finishing requests in flight");
  node->announce_drain();
  std::this_thread::sleep_for(std::chrono::milliseconds(options.drain_notice_ms));
  const bool all_finished = node->drain();
  reloader.reset();  // a running reload may continue until now
  node.reset();
  log(LogEvent::kNodeStopped, all_finished ? "stopped" : "stopped; some requests in flight were cut off");
}

// Until the node exists there is nothing to shut down: a signal ends the process at once, even if the policy
// database is silent.
std::unique_ptr<Node> start(Signals& signals, const ServeOptions& options) {
  const SystemClock clock;
  const EndGuard guard(signals, clock, std::nullopt);
  return std::make_unique<Node>(options);
}

// Runs until a signal ends it: reloads settings, follows the TLS files, and sets the big red switch by
// signals and its file.
void serve(Node& node, Reloader& reloader, Signals& signals, const ServeOptions& options) {
  constexpr int kLookEveryMs = 200;     // at the switch file
  constexpr int kLooksPerTlsLook = 10;  // at the TLS files
  SwitchFile file(options.switch_file);
  const bool has_files = file.has_path() || !options.tls_cert.empty();
  for (int looks = 1;; ++looks) try {
      if (looks % kLooksPerTlsLook == 0) node.follow_tls_files();
      if (const auto seen = file.look())
        node.switch_controller().turn_by_file({seen->exists, "file", seen->reason, kSwitchSecondsDefault});
      const std::optional<int> signal = has_files ? signals.wait_ms(kLookEveryMs) : signals.wait();
      if (signal == SIGHUP)
        reloader.request();
      else if (signal == SIGUSR1 || signal == SIGUSR2)
        node.switch_controller().turn(
            {signal == SIGUSR1, "signal", signal == SIGUSR1 ? "SIGUSR1" : "SIGUSR2", kSwitchSecondsDefault});
      else if (signal)
        return;
    } catch (const std::bad_alloc&) {
      log(LogEvent::kNodeOutOfMemory,
          "out of memory while handling a signal or a file; send the signal again");
    }
}

int run(const std::vector<std::string>& arguments) {
  const ServeOptions options = read_serve_options(arguments);
  take_log_settings(options);
  MemoryReserve::keep(kMemoryReserveBytes);
  Signals signals;
  std::unique_ptr<Node> node = start(signals, options);
  log(LogEvent::kNodeStarted,
      fmt::format("sluice {} listening on {}{}", SLUICE_VERSION, node->listening_text(),
                  options.tls_cert.empty() ? "" : " with TLS"));
  auto reloader = make_reloader(*node, arguments, options);
  serve(*node, *reloader, signals, options);
  stop(std::move(node), std::move(reloader), signals, options);
  return kExitOk;
}

}  // namespace

void add_serve(CLI::App& app, std::vector<std::string> arguments, int& exit_code) {
  const auto options = std::make_shared<ServeOptions>();
  CLI::App* command = app.add_subcommand("serve", "Start the server");
  add_serve_options(*command, *options);
  command->footer(
      "Every setting is also SLUICE_<FLAG> in the environment. SIGHUP rereads policies and certificates, "
      "SIGTERM stops gracefully,\nSIGUSR1 opens the big red switch, SIGUSR2 sets it back to normal.\n"
      "Example:\n  sluice serve --policies examples/policies.yaml");
  // Parsed here only for --help and usage errors; run() parses again.
  command->callback([options, arguments = std::move(arguments), &exit_code] { exit_code = run(arguments); });
}

}  // namespace sluice::cli

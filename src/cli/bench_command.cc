#include <CLI/CLI.hpp>
#include <iostream>
#include <memory>
#include <random>

#include "cli/command.h"
#include "cli/serve/brief_help.h"
#include "loadgen/bench_command.h"
#include "server/setup/store_setup.h"

namespace sluice::cli {

using server::make_store;
using server::read_store_settings;
using server::ServeOptions;
namespace {

constexpr const char* kRarelyNeeded[] = {"--ca",          "--client-cert",  "--client-key", "--method",
                                         "--payload-hex", "--payload-file", "--in-flight",  "--format",
                                         "--tenant-from", "--key",          "--cost",       "--map",
                                         "--no-merging",  "--node-leases"};

// Makes stores as a server would.
loadgen::MakeStore store_maker(const loadgen::BenchOptions& options) {
  if (options.store.empty()) return {};
  ServeOptions as_served;
  as_served.store = options.store;
  return [settings = read_store_settings(as_served), merges = options.merges](
             redis::Transport& transport, const Clock& clock, ParamsTable& params) {
    const auto random = std::make_shared<std::mt19937_64>(std::random_device{}());
    return make_store(settings, {.transport = transport,
                                 .clock = clock,
                                 .wall_clock = clock,  // the comparison is not used
                                 .params = params,
                                 .random = [random](std::uint64_t below) { return (*random)() % below; },
                                 .log =
                                     [](LogEvent, std::string_view sentence) {
                                       std::cerr << "sluice bench: " << sentence << "\n";
                                     },
                                 .merges = merges});
  };
}

}  // namespace

void add_bench(CLI::App& app, int& exit_code) {
  const auto options = std::make_shared<loadgen::BenchOptions>();
  CLI::App* command =
      app.add_subcommand("bench", "Send load to a server, or run checks in this process (--direct)");
  loadgen::add_bench_options(*command, *options);
  for (const char* name : kRarelyNeeded) command->get_option(name)->group(kMoreSettings);
  make_help_brief(*command);
  command->callback([options, &exit_code] {
    if (options->store == "memory") options->store.clear();
    exit_code = loadgen::run_bench(*options, store_maker(*options));
  });
}

}  // namespace sluice::cli

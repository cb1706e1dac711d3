#include <CLI/CLI.hpp>
#include <memory>

#include "cli/command.h"
#include "loadgen/bench_command.h"

namespace sluice::cli {

void add_bench(CLI::App& app, int& exit_code) {
  const auto options = std::make_shared<loadgen::BenchOptions>();
  CLI::App* command = app.add_subcommand("bench", "Drive load at a server, or in process (--direct)");
  loadgen::add_bench_options(*command, *options);
  command->callback([options, &exit_code] { exit_code = loadgen::run_bench(*options); });
}

}  // namespace sluice::cli

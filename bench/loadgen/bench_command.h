#pragma once

#include "loadgen/options.h"
#include "loadgen/run/store_run.h"

namespace CLI {
class App;
}

namespace sluice::loadgen {

// Adds the options of `sluice bench`; parsing the command line fills `options`. `options` must outlive `app`.
//
//   BenchOptions options;
//   CLI::App* bench = app.add_subcommand("bench", "drive load at a server");
//   add_bench_options(*bench, options);
//   bench->callback([&] { status = run_bench(options, make_store); });
void add_bench_options(CLI::App& app, BenchOptions& options);

// Runs, prints the table to stdout and errors to stderr. `make_store` is called only if options.store is set.
// Exit status: 0; 1 if calls failed; 2 if it could not run.
int run_bench(const BenchOptions& options, const MakeStore& make_store);

}  // namespace sluice::loadgen

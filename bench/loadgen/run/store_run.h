#pragma once

#include <expected>
#include <functional>
#include <memory>
#include <string>

#include "base/clock.h"
#include "loadgen/measure/report.h"
#include "loadgen/options.h"
#include "redis/connection/transport.h"
#include "store/params_table.h"
#include "store/store.h"

namespace sluice::loadgen {

// Makes a separate store for each loop. The arguments outlive the store.
using MakeStore = std::function<std::unique_ptr<Store>(redis::Transport&, const Clock&, ParamsTable&)>;

// Runs checks in this process against a remote store: the engine, event loop and store client of a server,
// without its endpoints. Each thread has its own and keeps options.in_flight checks running or, with a rate,
// starts each when it is due. Latencies are in µs.
//
// A check that the failure rule decided counts as failed. The error is a sentence: policies that cannot be
// read, or a store that cannot be reached. REQUIRES: options.mode is kDirect.
std::expected<Measurement, std::string> run_on_store(const BenchOptions& options, const Clock& clock,
                                                     const MakeStore& make_store);

}  // namespace sluice::loadgen

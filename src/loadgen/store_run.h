#pragma once

#include <expected>
#include <functional>
#include <memory>
#include <string>

#include "base/clock.h"
#include "loadgen/options.h"
#include "loadgen/report.h"
#include "redis/transport.h"
#include "store/async_store.h"
#include "store/params_table.h"

namespace sluice::loadgen {

// Makes a loop's own store. What it gets outlives the store.
using MakeStore = std::function<std::unique_ptr<AsyncStore>(redis::Transport&, const Clock&, ParamsTable&)>;

// Checks in this process against a store somewhere else: the engine, event loop and store client that a
// server would run, without its doors. Each thread has its own and keeps options.in_flight checks under way
// or, with a rate, starts each when it is due. Latencies are in µs.
//
// A check that the failure rule decided counts as failed. The error is a sentence: policies that cannot be
// read, a store that cannot be reached. REQUIRES: options.mode is kDirect.
std::expected<Measurement, std::string> run_on_store(const BenchOptions& options, const Clock& clock,
                                                     const MakeStore& make_store);

}  // namespace sluice::loadgen

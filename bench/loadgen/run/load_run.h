#pragma once

#include <expected>
#include <string>

#include "base/clock.h"
#include "loadgen/measure/report.h"
#include "loadgen/options.h"

namespace sluice::loadgen {

// Sends load to a server as `options` say and waits until it is over: warm-up, window, grace period. SIGINT
// and SIGTERM end it early, with the results so far. The error is a sentence that says what to do. REQUIRES:
// options.mode is not kDirect; threads <= connections.
std::expected<Measurement, std::string> run_load(const BenchOptions& options, const Clock& clock,
                                                 const Recording* recording);

}  // namespace sluice::loadgen

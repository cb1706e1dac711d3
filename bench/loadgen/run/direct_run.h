#pragma once

#include <expected>
#include <string>

#include "base/clock.h"
#include "loadgen/measure/report.h"
#include "loadgen/options.h"

namespace sluice::loadgen {

// Runs checks in this process: the engine and the memory store of a server, without the network. Each thread
// has its own Engine and checks as fast as it can; one check in kSampledOneIn is timed, in nanoseconds. A
// replay waits until each check is due, and times each. The error is a sentence. REQUIRES: options.mode is
// kDirect and options.store is empty; the recording may be null.
std::expected<Measurement, std::string> run_direct(const BenchOptions& options, const Clock& clock,
                                                   const Recording* recording);

inline constexpr int kSampledOneIn = 64;

}  // namespace sluice::loadgen

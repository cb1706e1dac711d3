#pragma once

#include <expected>
#include <string>

#include "base/clock.h"
#include "loadgen/options.h"
#include "loadgen/report.h"

namespace sluice::loadgen {

// Checks in this process: the engine and the memory store that a server would run, without the network. Each
// thread has its own Limiter and asks as fast as it can; one check in kSampledOneIn is timed, in nanoseconds.
// A replay waits until each check is due, and each is timed. The error is a sentence. REQUIRES: options.mode
// is kDirect and options.store is empty; the recording may be null.
std::expected<Measurement, std::string> run_direct(const BenchOptions& options, const Clock& clock,
                                                   const Recording* recording);

inline constexpr int kSampledOneIn = 64;

}  // namespace sluice::loadgen

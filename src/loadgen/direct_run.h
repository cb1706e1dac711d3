#pragma once

#include <expected>
#include <string>

#include "base/clock.h"
#include "loadgen/options.h"
#include "loadgen/report.h"

namespace sluice::loadgen {

// Checks in this process: the engine and the memory store that a server would run, without the network. Each
// thread has its own Limiter and asks as fast as it can; one check in kSampledOneIn is timed, in nanoseconds.
// The error is a sentence. REQUIRES: options.mode is kDirect and options.store is empty.
std::expected<Measurement, std::string> run_direct(const BenchOptions& options, const Clock& clock);

inline constexpr int kSampledOneIn = 64;

}  // namespace sluice::loadgen

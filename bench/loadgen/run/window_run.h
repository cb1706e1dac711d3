#pragma once

#include <functional>
#include <vector>

#include "base/clock.h"
#include "loadgen/measure/report.h"
#include "loadgen/options.h"

namespace sluice::loadgen {

// Sets the window of a run that starts now: after the warm-up, for the duration in the options.
void open_window(Window& window, const BenchOptions& options, const Clock& clock);

// Runs each of `threads` on its own thread until all have returned. They return soon after the window's end,
// or earlier: then the last of them ends the window. Measures CPU times over the window. SIGINT and SIGTERM
// end it early. The caller fills in the tally.
Measurement run_through_window(Window& window, const BenchOptions& options, const Clock& clock,
                               const std::vector<std::function<void()>>& threads);

}  // namespace sluice::loadgen

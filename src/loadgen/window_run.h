#pragma once

#include <functional>
#include <vector>

#include "base/clock.h"
#include "loadgen/options.h"
#include "loadgen/report.h"

namespace sluice::loadgen {

// Sets the window of a run that begins now: after the warm-up, for as long as the options say.
void open_window(Window& window, const BenchOptions& options, const Clock& clock);

// Runs each of `threads` on a thread of its own until all have returned, which they do soon after the
// window's end, or before: then the last of them ends the window. Takes CPU times around the window; SIGINT
// and SIGTERM end it early. The tally is the caller's to fill.
Measurement run_through_window(Window& window, const BenchOptions& options, const Clock& clock,
                               const std::vector<std::function<void()>>& threads);

}  // namespace sluice::loadgen

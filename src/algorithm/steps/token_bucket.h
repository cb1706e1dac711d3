#pragma once

#include "algorithm/steps/gcra.h"

// Token bucket: `capacity` tokens, and one more every interval. A request takes as many tokens as it costs,
// and is denied when there are too few.
//
// It is the meter of gcra.h in other words. A bucket that will be full again in u µs lacks u ÷ interval
// tokens, so "full again no later than a whole refill from now" and "enough tokens" are the same
// condition, at every instant and for every cost:
//
//   tokens = capacity − (full_again − now) ÷ interval
//
// The usual implementation stores tokens and the time of the last refill, and rounds one of them at each
// request: that is where buckets drift and where a burst leaks after idle time. Storing the moment instead
// rounds nothing.
namespace sluice::token_bucket {

using gcra::step;

}  // namespace sluice::token_bucket

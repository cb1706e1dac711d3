#pragma once

#include <algorithm>

#include "algorithm/gcra.h"

// Leaky bucket, as a meter: each request pours its cost in, the bucket leaks one unit every interval, and
// what would overflow is denied.
//
// It is the token bucket upside down (level = capacity − tokens), so it admits and denies exactly
// as gcra does. (It is not the queue of the same name, which delays requests instead of denying them.)
//
// One thing differs: it remembers how much was turned away. `second` adds the cost of each denial and returns
// to 0 at the next admission of a cost above 0; it saturates at kDeniedCostMax and decides nothing.
namespace sluice::leaky_bucket {

inline Stepped step(const LimitParams& p, const State& state, std::int64_t now_us, std::int64_t cost,
                    OnDenial on_denial) {
  Stepped stepped = gcra::step(p, state, now_us, cost, on_denial);
  if (!stepped.outcome.allowed)
    stepped.state.second = std::min(state.second + cost, kDeniedCostMax);
  else if (cost > 0)
    stepped.state.second = 0;
  return stepped;
}

}  // namespace sluice::leaky_bucket

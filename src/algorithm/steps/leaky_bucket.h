#pragma once

#include <algorithm>

#include "algorithm/steps/gcra.h"

// Leaky bucket, as a meter: each request pours its cost in, the bucket leaks one unit per interval, and a
// request that would overflow it is denied.
//
// It is the token bucket upside down (level = capacity − tokens), so it admits and denies exactly
// as gcra does. (It is not the queue of the same name, which delays requests instead of denying them.)
//
// One thing differs: it remembers how much was denied. `second` is the cost of all denied checks that this
// limit was part of, including those that another limit denied while this one had room. The next admission
// with a cost above 0 sets it to 0. It saturates at kDeniedCostMax and decides nothing.
//
// An empty bucket with nothing else to remember would be forgotten at once, and the denied cost with it. So a
// denial sets a date: `at` is not before the last denial, and the denied cost is kept after `at` for as long
// as a full bucket takes to run empty.
//
//     denied        `at`: the bucket is empty
//   ────┼───── level ─────┼──────── a full bucket's time ────────┤ forgotten
//
// (`at` is a moment at which the bucket was empty. If the clock steps back behind it, the bucket seems to
// hold what leaks until then, like any bucket whose clock steps back.)
namespace sluice::leaky_bucket {

// The cost denied since the last admission, while it is still remembered. A limit that denies everything
// remembers nothing.
inline std::int64_t denied_cost(const LimitParams& p, const State& state, std::int64_t now_us) {
  const bool remembered = p.capacity > 0 && now_us - state.at < gcra::ceil_us(gcra::full(p));
  return remembered ? state.second : 0;
}

// The bucket level from gcra with this denied cost added. `dated_us`: when the bucket was empty, if it is
// empty.
inline State with_denied_cost(State level, std::int64_t denied, std::int64_t dated_us) {
  if (denied > 0 && level == State{}) level.at = dated_us;
  level.second = denied;
  return level;
}

// `after` (the state of `before` after a denied check) with the check's cost counted as denied.
inline State with_denial(const LimitParams& p, const State& before, State after, std::int64_t now_us,
                         std::int64_t cost) {
  after.second = 0;
  if (p.capacity == 0) return after;
  after.second = std::min(denied_cost(p, before, now_us) + cost, kDeniedCostMax);
  after.at = std::max(after.at, now_us);
  return after;
}

inline Stepped step(const LimitParams& p, const State& state, std::int64_t now_us, std::int64_t cost,
                    OnDenial on_denial) {
  Stepped stepped = gcra::step(p, state, now_us, cost, on_denial);
  if (!stepped.outcome.allowed)
    stepped.state = leaky_bucket::with_denial(p, state, stepped.state, now_us, cost);
  else if (cost == 0)
    stepped.state = with_denied_cost(stepped.state, denied_cost(p, state, now_us), state.at);
  return stepped;
}

inline bool is_fresh(const LimitParams& p, const State& state, std::int64_t now_us) {
  return gcra::is_fresh(p, state, now_us) && denied_cost(p, state, now_us) == 0;
}

}  // namespace sluice::leaky_bucket

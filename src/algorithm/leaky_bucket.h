#pragma once

#include <algorithm>

#include "algorithm/gcra.h"

// Leaky bucket, as a meter: each request pours its cost in, the bucket leaks one unit every interval, and
// what would overflow is denied.
//
// It is the token bucket upside down (level = capacity − tokens), so it admits and denies exactly
// as gcra does. (It is not the queue of the same name, which delays requests instead of denying them.)
//
// One thing differs: it remembers how much was turned away. `second` is the cost of the denied checks that it
// took part in, also of those that another limit denied while it had room itself. The next admission of a
// cost above 0 sets it to 0. It saturates at kDeniedCostMax and decides nothing.
//
// An empty bucket that has nothing else to remember would be forgotten at once, and the count with it. So a
// denial dates it: `at` is not before the last denial, and the count lasts for as long after `at` as a full
// bucket takes to run empty.
//
//     denied        `at`: the bucket is empty
//   ────┼───── level ─────┼──────── a full bucket's time ────────┤ forgotten
//
// (A date is a moment at which the bucket was empty. Should the clock step back behind it, the bucket seems
// to hold what leaks until then, as any bucket does whose clock steps back.)
namespace sluice::leaky_bucket {

// What was denied since the last admission, as far as it is still remembered. A limit that denies everything
// remembers nothing.
inline std::int64_t denied_cost(const LimitParams& p, const State& state, std::int64_t now_us) {
  const bool remembered = p.capacity > 0 && now_us - state.at < gcra::ceil_us(gcra::full(p));
  return remembered ? state.second : 0;
}

// The level of a bucket, as gcra left it, with that denied cost. `dated_us`: when it was empty, if it is.
inline State with_denied_cost(State level, std::int64_t denied, std::int64_t dated_us) {
  if (denied > 0 && level == State{}) level.at = dated_us;
  level.second = denied;
  return level;
}

// `after`, which a denied check makes of `before`, with the check's cost counted.
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

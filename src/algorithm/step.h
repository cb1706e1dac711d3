#pragma once

#include <cstdint>
#include <vector>

#include "algorithm/limit_params.h"
#include "base/limits.h"

// The vocabulary of the six algorithms. Each is a pure step: state, parameters, time and cost in; new state
// and outcome out. No clock, no lock, no allocation (the sliding log's own buffer aside).
namespace sluice {

// What a counter remembers: three integers, whose meaning is the algorithm's. All zero is a fresh
// counter, and what a step returns when there is nothing to remember.
//
//                     at (53 bits)           first (30 bits)            second
//   gcra              when it is full again  fraction over denominator  –
//   token_bucket      when it is full again  fraction over denominator  –
//   leaky_bucket      when it is empty       fraction over denominator  denied cost (22 bits, saturates)
//   fixed_window      index of the window    units in it                –
//   sliding_window    index of the window    units in it                units in the one before (30 bits)
//
// The denied cost is that of all denied checks that a leaky_bucket took part in since its last admission,
// whichever limit denied them. While there is one, `at` is not before the last denial.
struct State {
  std::int64_t at = 0;
  std::int64_t first = 0;
  std::int64_t second = 0;
  friend bool operator==(const State&, const State&) = default;
};

// The sliding log's memory: what was admitted and when, oldest first. At most kSlidingLogMax entries.
struct LogEntry {
  std::int64_t at_us = 0;
  std::int64_t cost = 0;
  friend bool operator==(const LogEntry&, const LogEntry&) = default;
};
using Log = std::vector<LogEntry>;

// Limit 10, 6 used, cost 1: allowed, remaining 3. Limit 10, 10 used: denied, remaining 0, retry_after_us
// until one fits.
struct Outcome {
  bool allowed = false;
  std::int64_t remaining = 0;  // whole units left after the step, 0…capacity
  std::int64_t retry_after_us =
      0;  // 0 when allowed; kNever when the cost can never fit; else exactly when it would
  std::int64_t reset_after_us = 0;  // until the limit is full again
  friend bool operator==(const Outcome&, const Outcome&) = default;
};
inline constexpr std::int64_t kNever = -1;
inline constexpr std::int64_t kCostNever = kCostMax + 1;  // a cost that no limit has room for
static_assert(kRateMax < kCostNever);
inline constexpr std::int64_t kDeniedCostMax = (1 << 22) - 1;
inline constexpr std::int64_t kWindowUnitsMax = (1 << 30) - 1;  // where the count of a window saturates

// What to do with a cost that does not fit.
enum class OnDenial : std::uint8_t {
  kFree,   // a denied request charges nothing
  kCharge  // `count_denied`: it charges all the same; a bucket gets no fuller than full
};

// A look that a window always allows. Where denials count, a window may be used beyond its capacity, and then
// a look is denied: so what a request costs may be charged when it is known, after the request, and who has
// used too much by then is stopped at his next one. Exactly used up is not too much. Buckets and the
// sliding log allow every look: a bucket gets no fuller than full, and the log does not keep by how much it
// was exceeded.
constexpr bool is_free_look(std::int64_t cost, OnDenial on_denial) {
  return cost == 0 && on_denial == OnDenial::kFree;
}

struct Stepped {
  State state;
  Outcome outcome;
};

// Decides `cost` units at `now_us` and returns the state afterwards. Keep that state after a denial too: it
// may hold a charge (kCharge), the denied cost of a leaky_bucket, or a correction for a clock that stepped
// back.
//
// Cost 0 is a look: it changes nothing, and is allowed, unless the capacity is 0 or a window with kCharge is
// used beyond it (is_free_look). A cost above the capacity is denied with
// kNever. A clock that steps back mints nothing, and what it can add to a wait is bounded: a bucket is never
// more than full, a window never more than one window ahead of the clock. REQUIRES: params.algorithm !=
// kSlidingLog, 0 <= cost <= kCostNever, 0 <= now_us < 2^52 (the year 2112).
Stepped step(const LimitParams& params, const State& state, std::int64_t now_us, std::int64_t cost,
             OnDenial on_denial = OnDenial::kFree);

// The same for the sliding log, in place.
// REQUIRES: params.algorithm == kSlidingLog, 0 <= cost <= kCostNever, 0 <= now_us < 2^52.
Outcome step(const LimitParams& params, Log& log, std::int64_t now_us, std::int64_t cost,
             OnDenial on_denial = OnDenial::kFree);

// For a counter that had room itself when another limit of the check denied: `after`, which is to be kept of
// `before`; if it is a leaky_bucket's, with the cost counted as denied. (A step that denies has done so
// already.) REQUIRES: as step().
State with_denial(const LimitParams& params, const State& before, const State& after, std::int64_t now_us,
                  std::int64_t cost);

// True when the state decides exactly as a fresh one would from now on, and tells the same: it can be
// forgotten.
bool is_fresh(const LimitParams& params, const State& state, std::int64_t now_us);
bool is_fresh(const LimitParams& params, const Log& log, std::int64_t now_us);

}  // namespace sluice

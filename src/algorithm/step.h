#pragma once

#include <cstdint>
#include <vector>

#include "algorithm/limit_params.h"
#include "base/limits.h"

// The types of the six algorithms. Each algorithm is a pure step: state, parameters, time and cost in; new
// state and outcome out. No clock, no lock, no allocation (except the sliding log's own buffer).
namespace sluice {

// What a counter remembers: three integers, whose meaning depends on the algorithm. All zero is a fresh
// counter; a step returns it when there is nothing to remember.
//
//                     at (53 bits)           first (30 bits)            second
//   gcra              when it is full again  fraction over denominator  –
//   token_bucket      when it is full again  fraction over denominator  –
//   leaky_bucket      when it is empty       fraction over denominator  denied cost (22 bits, saturates)
//   fixed_window      index of the window    units in it                –
//   sliding_window    index of the window    units in it                units in the one before (30 bits)
//
// The denied cost is that of all denied checks that a leaky_bucket was part of since its last admission,
// whichever limit denied them. While it is above 0, `at` is not before the last denial.
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
  std::int64_t remaining = 0;       // whole units left after the step, 0…capacity
  std::int64_t retry_after_us = 0;  // 0 when allowed; kNever when the cost can never fit; else the exact wait
  std::int64_t reset_after_us = 0;  // until the limit is full again
  friend bool operator==(const Outcome&, const Outcome&) = default;
};
inline constexpr std::int64_t kNever = -1;
inline constexpr std::int64_t kCostNever = kCostMax + 1;  // a cost that no limit has room for
static_assert(kRateMax < kCostNever);
inline constexpr std::int64_t kDeniedCostMax = (1 << 22) - 1;
inline constexpr std::int64_t kWindowUnitsMax = (1 << 30) - 1;  // a window's count saturates here

// What to do with a cost that does not fit.
enum class OnDenial : std::uint8_t {
  kFree,   // a denied request charges nothing
  kCharge  // `count_denied`: it is charged all the same; a bucket is never charged beyond full
};

// True for a look that a window always allows. Where denials are charged, a window may be used beyond its
// capacity, and then a look is denied. So the cost of a request may be charged afterwards, when it is known,
// and a caller that has used too much by then is stopped at the next request. Exactly used up is not too
// much. Buckets and the sliding log allow every look: a bucket is never charged beyond full, and the log does
// not keep by how much it was exceeded.
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
// Cost 0 is a look: it changes nothing and is allowed, unless the capacity is 0 or a window with kCharge is
// used beyond it (is_free_look). A cost above the capacity is denied with kNever. A clock that steps back
// grants nothing extra, and the wait it can add is bounded: a bucket is never more than full, a window never
// more than one window ahead of the clock.
// REQUIRES: params.algorithm != kSlidingLog, 0 <= cost <= kCostNever, 0 <= now_us < 2^52 (the year 2112).
Stepped step(const LimitParams& params, const State& state, std::int64_t now_us, std::int64_t cost,
             OnDenial on_denial = OnDenial::kFree);

// The same for the sliding log, in place.
// REQUIRES: params.algorithm == kSlidingLog, 0 <= cost <= kCostNever, 0 <= now_us < 2^52.
Outcome step(const LimitParams& params, Log& log, std::int64_t now_us, std::int64_t cost,
             OnDenial on_denial = OnDenial::kFree);

// For a counter that had room when another limit of the check denied: returns `after`, the state to keep
// instead of `before`; a leaky_bucket gets the cost counted as denied. (A step that denies has done so
// already.) REQUIRES: as step().
State with_denial(const LimitParams& params, const State& before, const State& after, std::int64_t now_us,
                  std::int64_t cost);

// True when the state will decide and report exactly as a fresh one: it can be forgotten.
bool is_fresh(const LimitParams& params, const State& state, std::int64_t now_us);
bool is_fresh(const LimitParams& params, const Log& log, std::int64_t now_us);

}  // namespace sluice

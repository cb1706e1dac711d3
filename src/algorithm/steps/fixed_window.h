#pragma once

#include <algorithm>
#include <cstdint>

#include "algorithm/step.h"
#include "base/arith.h"

// Fixed window: at most N units in each window of one period, windows aligned to the Unix epoch (so a limit
// per day starts at midnight UTC on every node).
//
//   window 7            window 8            window 9
//   ├──────── ▪▪▪▪▪▪▪▪▪▪┼▪▪▪▪▪▪▪▪▪▪ ────────┼──────────
//                       ▲ N at the end, N at the start: up to 2N within an instant
//
// The easiest to explain ("1000 today") and the least smooth. Choose another algorithm if 2N around an edge
// would hurt.
namespace sluice::fixed_window {

struct Window {
  std::int64_t index = 0;
  std::int64_t count = 0;
};

// The window that contains `now_us`, with its count. If the clock has stepped back behind the stored window,
// the stored one stays in force, so that crossing its edge twice grants nothing extra. It is never more than
// one window ahead, so that nobody waits for a clock that was wrong by years.
inline Window current(const LimitParams& p, const State& state, std::int64_t now_us) {
  const std::int64_t index = floor_div(now_us, p.rate.period_us);
  if (state.first == 0 || state.at < index) return {index, 0};
  return {std::min(state.at, index + 1), state.first};
}

inline Stepped step(const LimitParams& p, const State& state, std::int64_t now_us, std::int64_t cost,
                    OnDenial on_denial) {
  if (p.capacity == 0) return {state, {.retry_after_us = kNever}};
  auto [index, count] = current(p, state, now_us);
  const bool allowed = is_free_look(cost, on_denial) || count + cost <= p.capacity;
  if (allowed || on_denial == OnDenial::kCharge) count = std::min(count + cost, kWindowUnitsMax);

  const std::int64_t end_in_us = (index + 1) * p.rate.period_us - now_us;
  Outcome outcome{.allowed = allowed,
                  .remaining = std::max<std::int64_t>(p.capacity - count, 0),
                  .reset_after_us = count > 0 ? end_in_us : 0};
  if (!allowed) outcome.retry_after_us = cost <= p.capacity ? end_in_us : kNever;
  return {count > 0 ? State{index, count, 0} : State{}, outcome};
}

inline bool is_fresh(const LimitParams& p, const State& state, std::int64_t now_us) {
  return p.capacity == 0 || current(p, state, now_us).count == 0;
}

}  // namespace sluice::fixed_window

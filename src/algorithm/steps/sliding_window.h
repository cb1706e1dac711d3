#pragma once

#include <algorithm>
#include <cstdint>

#include "algorithm/step.h"
#include "base/arith.h"

// Sliding window by two counters: at most about N units in the last period, from the counts of the current
// and the previous window (aligned to the Unix epoch).
//
//        previous: 80             current: 30
//   ├─────────────────────────┼─────────┬───────────────┤
//             └──── the last period ────┘ now, 40 % into the window
//
//   estimate = ⌈80 × 60 %⌉ + 30 = 78
//
// It assumes that the previous window's units are evenly spread. If they were all at its end, they are
// forgotten too early: e µs after the edge, previous × e ÷ period units more than N may have passed in one
// period. So around an edge it admits what a bucket of N would (N at once, then N per period), not 2N at once
// as the fixed window does. If they were all at its start, they are remembered too long, and it denies too
// early. Within each aligned window it never admits more than N. Rounding the estimate up errs by less than
// one unit, on the safe side.
namespace sluice::sliding_window {

struct Windows {
  std::int64_t index = 0;
  std::int64_t current = 0;
  std::int64_t previous = 0;
};

// The counts as of `now_us`. A clock that has stepped back is handled as in fixed_window.h.
inline Windows roll(const LimitParams& p, const State& state, std::int64_t now_us) {
  const std::int64_t index = floor_div(now_us, p.rate.period_us);
  if (state.at < index - 1 || (state.first == 0 && state.second == 0)) return {index, 0, 0};
  if (state.at == index - 1) return {index, 0, state.first};
  return {std::min(state.at, index + 1), state.first, state.second};
}

// When the window began. After the clock has stepped back, `now_us` may be before it.
inline std::int64_t start_us(const LimitParams& p, const Windows& w) { return w.index * p.rate.period_us; }

// All zero when nothing counts.
inline State to_state(const Windows& w) {
  if (w.current == 0 && w.previous == 0) return {};
  return {w.index, w.current, w.previous};
}

// The part of the previous window that still counts.
inline std::int64_t faded(const LimitParams& p, const Windows& w, std::int64_t now_us) {
  if (w.previous == 0) return 0;
  const std::int64_t elapsed_us = std::max<std::int64_t>(now_us - start_us(p, w), 0);
  return mul_ceil_div(w.previous, p.rate.period_us - elapsed_us, p.rate.period_us);
}

// How far into the following window a count has faded to at most `room`: the smallest e with ⌈count × (period
// − e) ÷ period⌉ <= room. REQUIRES: count > room >= 0.
inline std::int64_t faded_to(const LimitParams& p, std::int64_t count, std::int64_t room) {
  return p.rate.period_us - mul_add_floor_div(room, p.rate.period_us, 0, count);
}

// When a denied cost will fit. REQUIRES: cost <= capacity, and it does not fit now.
inline std::int64_t fits_at_us(const LimitParams& p, const Windows& w, std::int64_t cost) {
  const std::int64_t room_now = p.capacity - cost - w.current;
  if (room_now >= 0) return start_us(p, w) + faded_to(p, w.previous, room_now);
  // Not before the current window has become the previous one.
  return start_us(p, w) + p.rate.period_us + faded_to(p, w.current, p.capacity - cost);
}

// The time until nothing counts any more.
inline std::int64_t reset_after_us(const LimitParams& p, const Windows& w, std::int64_t now_us) {
  if (w.current > 0) return start_us(p, w) + 2 * p.rate.period_us - now_us;
  if (w.previous > 0) return start_us(p, w) + p.rate.period_us - now_us;
  return 0;
}

inline Stepped step(const LimitParams& p, const State& state, std::int64_t now_us, std::int64_t cost,
                    OnDenial on_denial) {
  if (p.capacity == 0) return {state, {.retry_after_us = kNever}};
  Windows w = roll(p, state, now_us);
  const std::int64_t before = faded(p, w, now_us);
  const bool allowed = is_free_look(cost, on_denial) || before + w.current + cost <= p.capacity;
  if (allowed || on_denial == OnDenial::kCharge) w.current = std::min(w.current + cost, kWindowUnitsMax);

  Outcome outcome{.allowed = allowed,
                  .remaining = std::max<std::int64_t>(p.capacity - before - w.current, 0),
                  .reset_after_us = reset_after_us(p, w, now_us)};
  if (!allowed) outcome.retry_after_us = cost <= p.capacity ? fits_at_us(p, w, cost) - now_us : kNever;
  return {to_state(w), outcome};
}

inline std::int64_t units_used(const LimitParams& p, const State& state, std::int64_t now_us) {
  const Windows w = roll(p, state, now_us);
  return faded(p, w, now_us) + w.current;
}

inline bool is_fresh(const LimitParams& p, const State& state, std::int64_t now_us) {
  if (p.capacity == 0) return true;
  return to_state(roll(p, state, now_us)) == State{};
}

}  // namespace sluice::sliding_window

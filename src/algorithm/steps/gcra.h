#pragma once

#include <algorithm>
#include <cstdint>

#include "algorithm/step.h"
#include "base/arith.h"

// GCRA, the meter behind gcra, token_bucket and leaky_bucket.
//
// Imagine a bucket of `capacity` units that refills at the limit's rate. Instead of its level, remember only
// one moment: when it will be full again (the "theoretical arrival time"). Each unit takes one interval to
// refill, so charging a cost moves that moment `cost × interval` later. The bucket has room while the moment
// is no further away than a full refill:
//
//        now                  full again                now + capacity × interval
//   ──────┼────── used ───────────►│──────── room ────────────────┤
//                                  └─ cost × interval ─►│
//
// One number, no timer, no refill step: time itself refills. A moment in the past means full, and never more
// than full: idle time saves nothing up.
//
// Exactness: the interval is a fraction (see LimitParams), so lengths of time are kept as a Span: whole
// microseconds and a numerator over the denominator. Everything is computed relative to now;
// make_limit_params() made sure that nothing here reaches 2^53 (only whole_units() needs a wider product).
namespace sluice::gcra {

// An exact length of time. Compares like a number as long as 0 <= fraction < denominator.
struct Span {
  std::int64_t us = 0;
  std::int64_t fraction = 0;
  friend auto operator<=>(const Span&, const Span&) = default;
};

inline Span full(const LimitParams& p) { return {p.full_us, p.full_remainder}; }

// span + units × interval. REQUIRES: units <= capacity.
inline Span plus_units(const LimitParams& p, Span span, std::int64_t units) {
  const std::int64_t us = span.us + units * p.interval_us;
  const std::int64_t fraction = span.fraction + units * p.interval_remainder;
  if (fraction < p.denominator) return {us, fraction};  // the usual case; the division below is expensive
  return {us + fraction / p.denominator, fraction % p.denominator};
}

// a − b. REQUIRES: a >= b.
inline Span minus(const LimitParams& p, Span a, Span b) {
  if (a.fraction >= b.fraction) return {a.us - b.us, a.fraction - b.fraction};
  return {a.us - b.us - 1, a.fraction - b.fraction + p.denominator};
}

inline std::int64_t ceil_us(Span span) { return span.us + (span.fraction > 0); }

// period ÷ gcd(count, period): the interval over the denominator.
inline std::int64_t interval_numerator(const LimitParams& p) {
  return p.interval_us * p.denominator + p.interval_remainder;
}

// How many whole intervals the span holds.
inline std::int64_t whole_units(const LimitParams& p, Span span) {
  if (span < Span{p.interval_us, p.interval_remainder}) return 0;
  return mul_add_floor_div(span.us, p.denominator, span.fraction, interval_numerator(p));
}

// How much of the bucket is used, as the time its refill takes. The result is between empty and full for any
// state, also one from a limit with another denominator or from a clock that has since stepped back.
inline Span used(const LimitParams& p, const State& state, std::int64_t now_us) {
  if (state.at < now_us) return {};
  const Span used{state.at - now_us, std::clamp<std::int64_t>(state.first, 0, p.denominator - 1)};
  return std::min(used, full(p));
}

// The state with this much used; all zero for a full bucket. (`second` is set by the leaky bucket only.)
inline State with_used(std::int64_t now_us, Span used) {
  if (used == Span{}) return {};
  return {now_us + used.us, used.fraction, 0};
}

inline Outcome outcome(const LimitParams& p, Span used, std::int64_t retry_after_us) {
  return {.allowed = retry_after_us == 0,
          .remaining = whole_units(p, minus(p, full(p), used)),
          .retry_after_us = retry_after_us,
          .reset_after_us = ceil_us(used)};
}

inline Stepped step(const LimitParams& p, const State& state, std::int64_t now_us, std::int64_t cost,
                    OnDenial on_denial) {
  if (p.capacity == 0) return {state, {.retry_after_us = kNever}};
  Span level = used(p, state, now_us);
  const bool fits_ever = cost <= p.capacity;  // if not, cost × interval may be too large to compute
  if (fits_ever) {
    const Span after = plus_units(p, level, cost);
    if (after <= full(p)) return {with_used(now_us, after), outcome(p, after, 0)};
  }
  if (on_denial == OnDenial::kCharge) level = full(p);
  // The cost fits as soon as the overflow has been refilled.
  const std::int64_t retry = fits_ever ? ceil_us(minus(p, plus_units(p, level, cost), full(p))) : kNever;
  return {with_used(now_us, level), outcome(p, level, retry)};
}

inline bool is_fresh(const LimitParams& p, const State& state, std::int64_t now_us) {
  return p.capacity == 0 || used(p, state, now_us) == Span{};
}

// Units in use; a partly used unit counts as a whole one.
inline std::int64_t units_used(const LimitParams& p, const State& state, std::int64_t now_us) {
  if (p.capacity == 0) return 0;
  return p.capacity - whole_units(p, minus(p, full(p), used(p, state, now_us)));
}

// REQUIRES: units <= capacity.
inline State with_units_used(const LimitParams& p, std::int64_t units, std::int64_t now_us) {
  return with_used(now_us, plus_units(p, {}, units));
}

}  // namespace sluice::gcra

#include "algorithm/step.h"

#include <algorithm>
#include <cassert>
#include <utility>

#include "algorithm/fixed_window.h"
#include "algorithm/gcra.h"
#include "algorithm/leaky_bucket.h"
#include "algorithm/sliding_log.h"
#include "algorithm/sliding_window.h"
#include "algorithm/token_bucket.h"
#include "base/limits.h"

namespace sluice {
namespace {

[[maybe_unused]] bool in_range(std::int64_t now_us, std::int64_t cost) {
  return now_us >= 0 && now_us < kExactMax / 2 && cost >= 0 && cost <= kCostMax;
}

// True when a state means the same under both limits, whatever their capacities.
bool same_meter(const LimitParams& a, const LimitParams& b) {
  if (a.capacity == 0 || b.capacity == 0) return false;
  if (a.is_bucket() && b.is_bucket())
    return a.denominator == b.denominator && a.interval_us == b.interval_us &&
           a.interval_remainder == b.interval_remainder;
  return a.algorithm == b.algorithm && a.rate.period_us == b.rate.period_us;
}

std::int64_t units_used(const LimitParams& p, const State& state, std::int64_t now_us) {
  if (p.is_bucket()) return gcra::units_used(p, state, now_us);
  if (p.algorithm == Algorithm::kFixedWindow) return fixed_window::current(p, state, now_us).count;
  return sliding_window::units_used(p, state, now_us);
}

State with_units_used(const LimitParams& p, std::int64_t units, std::int64_t now_us) {
  if (units == 0) return {};
  if (p.is_bucket()) return gcra::with_units_used(p, units, now_us);
  return {floor_div(now_us, p.rate.period_us), units, 0};
}

}  // namespace

Stepped step(const LimitParams& p, const State& state, std::int64_t now_us, std::int64_t cost,
             OnDenial on_denial) {
  assert(in_range(now_us, cost));
  switch (p.algorithm) {
    case Algorithm::kGcra:
      return gcra::step(p, state, now_us, cost, on_denial);
    case Algorithm::kTokenBucket:
      return token_bucket::step(p, state, now_us, cost, on_denial);
    case Algorithm::kLeakyBucket:
      return leaky_bucket::step(p, state, now_us, cost, on_denial);
    case Algorithm::kFixedWindow:
      return fixed_window::step(p, state, now_us, cost, on_denial);
    case Algorithm::kSlidingWindow:
      return sliding_window::step(p, state, now_us, cost, on_denial);
    case Algorithm::kSlidingLog:
      break;
  }
  assert(false && "a sliding log has a Log, not a State");
  std::unreachable();
}

Outcome step(const LimitParams& p, Log& log, std::int64_t now_us, std::int64_t cost, OnDenial on_denial) {
  assert(p.algorithm == Algorithm::kSlidingLog && in_range(now_us, cost));
  return sliding_log::step(p, log, now_us, cost, on_denial);
}

bool is_fresh(const LimitParams& p, const State& state, std::int64_t now_us) {
  assert(p.algorithm != Algorithm::kSlidingLog && in_range(now_us, 0));
  if (p.is_bucket()) return gcra::is_fresh(p, state, now_us);
  if (p.algorithm == Algorithm::kFixedWindow) return fixed_window::is_fresh(p, state, now_us);
  return sliding_window::is_fresh(p, state, now_us);
}

bool is_fresh(const LimitParams& p, const Log& log, std::int64_t now_us) {
  assert(p.algorithm == Algorithm::kSlidingLog && in_range(now_us, 0));
  return sliding_log::is_fresh(p, log, now_us);
}

State migrate(const LimitParams& from, const LimitParams& to, const State& state, std::int64_t now_us) {
  assert(from.algorithm != Algorithm::kSlidingLog && to.algorithm != Algorithm::kSlidingLog);
  assert(in_range(now_us, 0));
  if (from == to) return state;
  // `second` means something else in each algorithm; a leaky bucket's denied cost outlives a change of
  // numbers only.
  const bool keep_second = from.algorithm == to.algorithm;
  if (same_meter(from, to)) {
    if (!to.is_bucket()) return state;
    return gcra::with_used(now_us, gcra::used(to, state, now_us), keep_second ? state.second : 0);
  }
  const std::int64_t units = std::min(units_used(from, state, now_us), to.capacity);
  State moved = with_units_used(to, units, now_us);
  if (keep_second && to.is_bucket()) moved.second = state.second;
  return moved;
}

}  // namespace sluice

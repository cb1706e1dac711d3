#include "algorithm/migrate.h"

#include <algorithm>
#include <utility>

#include "algorithm/steps/fixed_window.h"
#include "algorithm/steps/gcra.h"
#include "algorithm/steps/leaky_bucket.h"
#include "algorithm/steps/sliding_log.h"
#include "algorithm/steps/sliding_window.h"
#include "base/arith.h"

namespace sluice {
namespace {

using gcra::Span;

bool is_log(const LimitParams& p) { return p.family() == Family::kSlidingLog; }
bool is_leaky(const LimitParams& p) { return p.algorithm == Algorithm::kLeakyBucket; }

// Whether units must be converted between the two limits.
bool is_scaled(const LimitParams& from, const LimitParams& to) {
  return from.scale > 0 && to.scale > 0 && from.scale != to.scale;
}

// True when a state means the same under both limits, whatever their capacities.
bool same_meter(const LimitParams& a, const LimitParams& b) {
  if (a.capacity == 0 || b.capacity == 0) return false;
  if (a.is_bucket() && b.is_bucket())
    return a.denominator == b.denominator && a.interval_us == b.interval_us &&
           a.interval_remainder == b.interval_remainder;
  return a.algorithm == b.algorithm && a.rate.period_us == b.rate.period_us;
}

// Units in use; a partly used unit counts as a whole one. More than the capacity if that was exceeded.
std::int64_t units_used(const LimitParams& p, const Kept& kept, std::int64_t now_us) {
  if (p.capacity == 0) return 0;
  switch (p.family()) {
    case Family::kBucket:
      return gcra::units_used(p, kept.state, now_us);
    case Family::kFixedWindow:
      return fixed_window::current(p, kept.state, now_us).count;
    case Family::kSlidingWindow:
      return sliding_window::units_used(p, kept.state, now_us);
    case Family::kSlidingLog:
      return sliding_log::units_used(p, kept.log, now_us);
  }
  std::unreachable();
}

Kept with_units_used(const LimitParams& p, std::int64_t units, std::int64_t now_us) {
  if (units == 0 || p.capacity == 0) return {};
  units = std::min(units, kWindowUnitsMax);
  switch (p.family()) {
    case Family::kBucket:
      return {.state = gcra::with_units_used(p, std::min(units, p.capacity), now_us)};
    case Family::kFixedWindow:
    case Family::kSlidingWindow:
      return {.state = {floor_div(now_us, p.rate.period_us), units, 0}};
    case Family::kSlidingLog:
      return {.log = {{now_us, units}}};
  }
  std::unreachable();
}

// `units` in use under the old numbers, in units of the new ones.
std::int64_t carried(const LimitParams& from, const LimitParams& to, std::int64_t units) {
  return is_scaled(from, to) ? ceil_div(std::min(units, kWindowUnitsMax) * to.scale, from.scale) : units;
}

// The most units that may be in use under the old numbers for `cost` to fit into the new ones.
std::int64_t most_units(const LimitParams& from, const LimitParams& to, std::int64_t cost) {
  const std::int64_t room = to.capacity - cost;
  return is_scaled(from, to) ? floor_div(room * from.scale, to.scale) : room;
}

// How long until at most `units` are in use.
std::int64_t wait_us(const LimitParams& p, const Kept& kept, std::int64_t now_us, std::int64_t units) {
  if (units_used(p, kept, now_us) <= units) return 0;
  LimitParams smaller = p;
  smaller.capacity = units;
  switch (p.family()) {
    case Family::kBucket:
      return gcra::ceil_us(gcra::minus(p, gcra::used(p, kept.state, now_us), gcra::plus_units(p, {}, units)));
    case Family::kFixedWindow:
      return (fixed_window::current(p, kept.state, now_us).index + 1) * p.rate.period_us - now_us;
    case Family::kSlidingWindow:
      return sliding_window::fits_at_us(smaller, sliding_window::roll(p, kept.state, now_us), 0) - now_us;
    case Family::kSlidingLog:
      return sliding_log::Settled(p, kept.log, now_us).frees_at_us(units) - now_us;
  }
  std::unreachable();
}

// How long the cost must wait if the counter does not move. REQUIRES: cost <= to.capacity.
std::int64_t stays_us(const LimitParams& from, const LimitParams& to, const Kept& kept, const Touch& touch) {
  if (!is_scaled(from, to) && to.is_bucket() && same_meter(from, to)) {
    const Span level = gcra::used(from, kept.state, touch.now_us);
    const Span room = gcra::minus(to, gcra::full(to), gcra::plus_units(to, {}, touch.cost));
    return level <= room ? 0 : gcra::ceil_us(gcra::minus(to, level, room));
  }
  return wait_us(from, kept, touch.now_us, most_units(from, to, touch.cost));
}

// Scales each entry, beginning with the newest.
void take_share(const LimitParams& from, const LimitParams& to, Log& log) {
  std::int64_t newer = 0, carried_newer = 0;
  for (auto entry = log.rbegin(); entry != log.rend(); ++entry) {
    newer += entry->cost;
    entry->cost = carried(from, to, newer) - carried_newer;
    carried_newer += entry->cost;
  }
  std::erase_if(log, [](const LogEntry& entry) { return entry.cost == 0; });
}

// Entries mean the same under any limit. Entries that are too old for the new period, but not for the old
// one, still count now: they are merged into the oldest entry that counts.
Moved moved_log(const LimitParams& from, const LimitParams& to, Log log, std::int64_t now_us) {
  const std::int64_t time_us = sliding_log::settle(from, log, now_us);
  if (is_scaled(from, to)) take_share(from, to, log);
  const std::int64_t oldest_us = std::max<std::int64_t>(time_us - to.rate.period_us + 1, 0);
  Log merged;
  for (const LogEntry& entry : log) sliding_log::append(merged, std::max(entry.at_us, oldest_us), entry.cost);
  const bool whole = sliding_log::total(merged) <= to.capacity;
  return {{.log = std::move(merged)}, whole};
}

// A leaky bucket's denied cost survives a change of its numbers, but not a change of the algorithm.
void carry_denied_cost(const LimitParams& from, const LimitParams& to, const State& state,
                       std::int64_t now_us, State& out) {
  if (is_leaky(from) && is_leaky(to))
    out = leaky_bucket::with_denied_cost(out, leaky_bucket::denied_cost(from, state, now_us),
                                         std::min(state.at, now_us));
}

// An idle counter may be forgotten at any time, so it is treated as if it were.
bool is_idle(const LimitParams& p, const Kept& kept, std::int64_t now_us) {
  return is_log(p) ? is_fresh(p, kept.log, now_us) : is_fresh(p, kept.state, now_us);
}

Outcome step_kept(const LimitParams& p, Kept& kept, const Touch& touch, std::int64_t cost,
                  OnDenial on_denial) {
  if (is_log(p)) return step(p, kept.log, touch.now_us, cost, on_denial);
  const Stepped stepped = step(p, kept.state, touch.now_us, cost, on_denial);
  kept.state = stepped.state;
  return stepped.outcome;
}

// The outcome for a counter that stays under its numbers. `seen`: the counter as the new numbers see it.
Outcome told(const LimitParams& from, const LimitParams& to, const Kept& kept, Kept seen,
             const Touch& touch) {
  Kept level = seen;
  const OnDenial of_looks = touch.cost == 0 ? touch.on_denial : OnDenial::kFree;
  Outcome outcome = step_kept(to, seen, touch, touch.cost, of_looks);
  if (outcome.allowed && touch.cost > 0) outcome = step_kept(to, level, touch, 0, OnDenial::kFree);
  if (!outcome.allowed && outcome.retry_after_us != kNever)
    outcome.retry_after_us = stays_us(from, to, kept, touch);
  Kept former = kept;
  if (from.capacity > 0)
    outcome.reset_after_us = step_kept(from, former, touch, 0, OnDenial::kFree).reset_after_us;
  return outcome;
}

// The outcome and the content to keep when the counter moves. `fits`: the counter itself has room.
Touched moves(const LimitParams& to, const Kept& seen, const Touch& touch, bool fits) {
  Touched touched{.moved = true, .kept = seen};
  const bool another_denied = fits && !touch.others_fit;
  const bool untouched = another_denied && touch.on_denial == OnDenial::kFree;
  touched.outcome = step_kept(to, touched.kept, touch, untouched ? 0 : touch.cost, touch.on_denial);
  if (another_denied)
    touched.kept.state = with_denial(to, seen.state, touched.kept.state, touch.now_us, touch.cost);
  if (is_leaky(to)) touched.denied_cost = touched.kept.state.second;
  return touched;
}

}  // namespace

bool same_numbers(const LimitParams& a, const LimitParams& b) {
  const bool windows = a.family() == Family::kFixedWindow || a.family() == Family::kSlidingWindow;
  return a == b || (windows && same_meter(a, b) && a.scale == b.scale);
}

Moved moved(const LimitParams& from, const LimitParams& to, const Kept& kept, std::int64_t now_us) {
  if (same_numbers(from, to)) return {kept};
  if (is_log(from) && is_log(to) && from.capacity > 0) return moved_log(from, to, kept.log, now_us);
  Moved result;
  if (!is_scaled(from, to) && same_meter(from, to)) {
    result.kept = kept;
    if (!to.is_bucket()) return result;
    const Span level = gcra::used(from, kept.state, now_us);
    result.whole = level <= gcra::full(to);
    result.kept.state = gcra::with_used(now_us, std::min(level, gcra::full(to)));
  } else {
    const std::int64_t units = carried(from, to, units_used(from, kept, now_us));
    result.whole = units <= to.capacity;
    result.kept = with_units_used(to, units, now_us);
  }
  carry_denied_cost(from, to, kept.state, now_us, result.kept.state);
  return result;
}

Touched touch(const LimitParams& from, const LimitParams& to, const Kept& kept, const Touch& touch) {
  const Moved seen = moved(from, to, kept, touch.now_us);
  Kept tried = seen.kept;
  const Outcome outcome = step_kept(to, tried, touch, touch.cost, OnDenial::kFree);
  Touched stays{.outcome = told(from, to, kept, seen.kept, touch), .kept = kept};
  if (touch.cost > 0) {
    const bool counts = touch.on_denial == OnDenial::kCharge && seen.whole && to.capacity > 0;
    const bool sooner =
        seen.whole && !outcome.allowed && outcome.retry_after_us < stays.outcome.retry_after_us;
    if ((outcome.allowed && touch.others_fit) || counts || sooner || is_idle(from, kept, touch.now_us))
      return moves(to, seen.kept, touch, outcome.allowed);
    step_kept(from, stays.kept, touch, 0, OnDenial::kFree);  // drops what has expired
    stays.kept.state = with_denial(from, kept.state, stays.kept.state, touch.now_us, touch.cost);
  }
  if (is_leaky(from) && is_leaky(to))
    stays.denied_cost = leaky_bucket::denied_cost(from, stays.kept.state, touch.now_us);
  return stays;
}

std::int64_t one_unit_after_us(const LimitParams& from, const LimitParams& to, const Kept& kept,
                               std::int64_t now_us) {
  return to.capacity == 0 ? kNever : stays_us(from, to, kept, {.now_us = now_us, .cost = 1});
}

}  // namespace sluice

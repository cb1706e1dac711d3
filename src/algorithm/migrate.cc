#include "algorithm/migrate.h"

#include <algorithm>
#include <cassert>
#include <utility>

#include "algorithm/fixed_window.h"
#include "algorithm/gcra.h"
#include "algorithm/leaky_bucket.h"
#include "algorithm/sliding_log.h"
#include "algorithm/sliding_window.h"
#include "base/arith.h"

namespace sluice {
namespace {

using gcra::Span;

// Of a state that nobody knows the numbers of: a bucket's moment is later than this (July 1970), the index of
// a window smaller, whatever its period.
constexpr std::int64_t kMomentMin = std::int64_t{1} << 44;

bool is_log(const LimitParams& p) { return p.algorithm == Algorithm::kSlidingLog; }
bool is_leaky(const LimitParams* p) { return p != nullptr && p->algorithm == Algorithm::kLeakyBucket; }

// True when a state means the same under both limits, whatever their capacities.
bool same_meter(const LimitParams& a, const LimitParams& b) {
  if (a.capacity == 0 || b.capacity == 0) return false;
  if (a.is_bucket() && b.is_bucket())
    return a.denominator == b.denominator && a.interval_us == b.interval_us &&
           a.interval_remainder == b.interval_remainder;
  return a.algorithm == b.algorithm && a.rate.period_us == b.rate.period_us;
}

// Whole units in use, a started one counted as whole; more than the capacity, if that was exceeded.
std::int64_t units_used(const LimitParams& p, const Kept& kept, std::int64_t now_us) {
  if (p.capacity == 0) return 0;
  if (is_log(p)) return sliding_log::units_used(p, kept.log, now_us);
  if (p.is_bucket()) return gcra::units_used(p, kept.state, now_us);
  if (p.algorithm == Algorithm::kFixedWindow) return fixed_window::current(p, kept.state, now_us).count;
  return sliding_window::units_used(p, kept.state, now_us);
}

Kept with_units_used(const LimitParams& p, std::int64_t units, std::int64_t now_us) {
  if (units == 0 || p.capacity == 0) return {};
  units = std::min(units, kWindowUnitsMax);
  if (is_log(p)) return {.log = {{now_us, units}}};
  if (p.is_bucket()) return {.state = gcra::with_units_used(p, std::min(units, p.capacity), now_us)};
  return {.state = {floor_div(now_us, p.rate.period_us), units, 0}};
}

// So many units are in use when `units` were under the former numbers.
std::int64_t carried(const LimitParams& from, const LimitParams& to, OnChange how, std::int64_t units) {
  if (how == OnChange::kKeep) return units;
  if (how == OnChange::kReset || from.capacity == 0) return 0;
  return ceil_div(std::min(units, from.capacity) * to.capacity, from.capacity);
}

// The most units that may be in use under the former numbers for `room` to be left of the new ones.
std::int64_t most_units(const LimitParams& from, const LimitParams& to, OnChange how, std::int64_t cost) {
  const std::int64_t room = to.capacity - cost;
  return how == OnChange::kKeep ? room : floor_div(room * from.capacity, to.capacity);
}

// How long until at most `units` are in use.
std::int64_t wait_us(const LimitParams& p, const Kept& kept, std::int64_t now_us, std::int64_t units) {
  if (units_used(p, kept, now_us) <= units) return 0;
  if (is_log(p)) return sliding_log::Settled(p, kept.log, now_us).frees_at_us(units) - now_us;
  if (p.is_bucket())
    return gcra::ceil_us(gcra::minus(p, gcra::used(p, kept.state, now_us), gcra::plus_units(p, {}, units)));
  if (p.algorithm == Algorithm::kFixedWindow)
    return (fixed_window::current(p, kept.state, now_us).index + 1) * p.rate.period_us - now_us;
  LimitParams smaller = p;
  smaller.capacity = units;
  return sliding_window::fits_at_us(smaller, sliding_window::roll(p, kept.state, now_us), 0) - now_us;
}

// How long the cost has to wait if the counter stays as it is. REQUIRES: cost <= to.capacity.
std::int64_t stays_us(const LimitParams& from, const LimitParams& to, OnChange how, const Kept& kept,
                      const Touch& touch) {
  if (how == OnChange::kKeep && to.is_bucket() && same_meter(from, to)) {
    const Span level = gcra::used(from, kept.state, touch.now_us);
    const Span room = gcra::minus(to, gcra::full(to), gcra::plus_units(to, {}, touch.cost));
    return level <= room ? 0 : gcra::ceil_us(gcra::minus(to, level, room));
  }
  return wait_us(from, kept, touch.now_us, most_units(from, to, how, touch.cost));
}

// A share of the limit is taken from each entry, beginning with the newest.
void take_share(const LimitParams& from, const LimitParams& to, Log& log) {
  std::int64_t newer = 0, carried_newer = 0;
  for (auto entry = log.rbegin(); entry != log.rend(); ++entry) {
    newer += entry->cost;
    entry->cost = carried(from, to, OnChange::kProportional, newer) - carried_newer;
    carried_newer += entry->cost;
  }
  std::erase_if(log, [](const LogEntry& entry) { return entry.cost == 0; });
}

// Entries mean the same under any limit. Those that are too old for the new period, and were not for the
// former, still count now: they are put together as the oldest that do.
Moved moved_log(const LimitParams& from, const LimitParams& to, OnChange how, Log log, std::int64_t now_us) {
  const std::int64_t time_us = sliding_log::settle(from, log, now_us);
  if (how == OnChange::kProportional) take_share(from, to, log);
  const std::int64_t oldest_us = std::max<std::int64_t>(time_us - to.rate.period_us + 1, 0);
  Log merged;
  for (const LogEntry& entry : log) sliding_log::append(merged, std::max(entry.at_us, oldest_us), entry.cost);
  const bool whole = sliding_log::total(merged) <= to.capacity;
  return {{.log = std::move(merged)}, whole};
}

// A leaky bucket's denied cost outlives a change of its numbers, of nothing else.
void carry_denied_cost(const LimitParams& from, const LimitParams& to, const State& state,
                       std::int64_t now_us, State& out) {
  if (is_leaky(&from) && is_leaky(&to))
    out = leaky_bucket::with_denied_cost(out, leaky_bucket::denied_cost(from, state, now_us),
                                         std::min(state.at, now_us));
}

// The same for numbers that nobody knows.
Moved guessed(const LimitParams& to, const Kept& kept, std::int64_t now_us) {
  std::int64_t units = sliding_log::total(kept.log) + kept.state.first + kept.state.second;
  if (kept.log.empty() && kept.state.at >= kMomentMin) units = kept.state.at > now_us ? kWindowUnitsMax : 0;
  return {with_units_used(to, units, now_us), false};
}

// It may be forgotten at any time, so it is as if it were.
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

// What a counter tells that stays under its numbers; `seen`: as the new ones see it.
Outcome told(const LimitParams* from, const LimitParams& to, OnChange how, const Kept& kept, Kept seen,
             const Touch& touch) {
  Kept level = seen;
  const OnDenial of_looks = touch.cost == 0 ? touch.on_denial : OnDenial::kFree;
  Outcome outcome = step_kept(to, seen, touch, touch.cost, of_looks);
  if (outcome.allowed && touch.cost > 0) outcome = step_kept(to, level, touch, 0, OnDenial::kFree);
  const bool waits = !outcome.allowed && outcome.retry_after_us != kNever;
  if (from != nullptr) {
    if (waits) outcome.retry_after_us = stays_us(*from, to, how, kept, touch);
    Kept former = kept;
    if (how != OnChange::kReset && from->capacity > 0)
      outcome.reset_after_us = step_kept(*from, former, touch, 0, OnDenial::kFree).reset_after_us;
  } else if (kept.log.empty() && kept.state.at > touch.now_us) {
    outcome.reset_after_us = kept.state.at + (kept.state.first > 0) - touch.now_us;
    if (waits) outcome.retry_after_us = outcome.reset_after_us;
  }
  return outcome;
}

// The same for what is to be kept, when the counter moves. `fits`: it has room itself.
Touched moves(const LimitParams& to, const Kept& seen, const Touch& touch, bool fits) {
  Touched touched{.moved = true, .kept = seen};
  const bool another_denied = fits && !touch.others_fit;
  const bool untouched = another_denied && touch.on_denial == OnDenial::kFree;
  touched.outcome = step_kept(to, touched.kept, touch, untouched ? 0 : touch.cost, touch.on_denial);
  if (another_denied)
    touched.kept.state = with_denial(to, seen.state, touched.kept.state, touch.now_us, touch.cost);
  if (is_leaky(&to)) touched.denied_cost = touched.kept.state.second;
  return touched;
}

}  // namespace

bool same_numbers(const LimitParams& a, const LimitParams& b) {
  LimitParams same_words = b;
  same_words.on_change = a.on_change;
  return a == same_words;
}

Moved moved(const LimitParams& from, const LimitParams& to, OnChange how, const Kept& kept,
            std::int64_t now_us) {
  if (same_numbers(from, to)) return {kept};
  if (how == OnChange::kReset) return {};
  if (is_log(from) && is_log(to) && from.capacity > 0) return moved_log(from, to, how, kept.log, now_us);
  Moved result;
  if (how == OnChange::kKeep && same_meter(from, to)) {
    result.kept = kept;
    if (!to.is_bucket()) return result;
    const Span level = gcra::used(from, kept.state, now_us);
    result.whole = level <= gcra::full(to);
    result.kept.state = gcra::with_used(now_us, std::min(level, gcra::full(to)));
  } else {
    const std::int64_t units = carried(from, to, how, units_used(from, kept, now_us));
    result.whole = units <= to.capacity;
    result.kept = with_units_used(to, units, now_us);
  }
  carry_denied_cost(from, to, kept.state, now_us, result.kept.state);
  return result;
}

Touched touch(const LimitParams* from, const LimitParams& to, OnChange how, const Kept& kept,
              const Touch& touch) {
  assert(from != nullptr ? !same_numbers(*from, to) : !is_log(to) || kept.log.empty());
  const Moved seen =
      from != nullptr ? moved(*from, to, how, kept, touch.now_us) : guessed(to, kept, touch.now_us);
  Kept tried = seen.kept;
  const Outcome outcome = step_kept(to, tried, touch, touch.cost, OnDenial::kFree);
  Touched stays{.outcome = told(from, to, how, kept, seen.kept, touch), .kept = kept};
  if (touch.cost > 0) {
    const bool counts = touch.on_denial == OnDenial::kCharge && seen.whole && to.capacity > 0;
    const bool sooner =
        seen.whole && !outcome.allowed && outcome.retry_after_us < stays.outcome.retry_after_us;
    const bool idle = from != nullptr && is_idle(*from, kept, touch.now_us);
    if ((outcome.allowed && touch.others_fit) || counts || sooner || idle)
      return moves(to, seen.kept, touch, outcome.allowed);
    if (from != nullptr) {
      step_kept(*from, stays.kept, touch, 0, OnDenial::kFree);  // settles it
      stays.kept.state = with_denial(*from, kept.state, stays.kept.state, touch.now_us, touch.cost);
    }
  }
  if (is_leaky(from) && is_leaky(&to))
    stays.denied_cost = leaky_bucket::denied_cost(*from, stays.kept.state, touch.now_us);
  return stays;
}

}  // namespace sluice

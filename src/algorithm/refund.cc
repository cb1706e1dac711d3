#include "algorithm/refund.h"

#include <algorithm>
#include <cassert>
#include <utility>

#include "algorithm/steps/gcra.h"
#include "algorithm/steps/leaky_bucket.h"
#include "base/arith.h"
#include "base/limits.h"

namespace sluice {
namespace {

using gcra::Span;

[[maybe_unused]] bool in_range(std::int64_t now_us, const Grant& grant) {
  const bool has_time = grant.at_us >= 0 && grant.at_us < kExactMax / 2;
  return now_us >= 0 && now_us < kExactMax / 2 && (has_time || grant.at_us == Grant::kAnyTime) &&
         grant.cost >= 0 && grant.cost <= kCostMax;
}

// A saturated count may stand for more than it says.
void take_from(std::int64_t& count, std::int64_t cost) {
  if (count < kWindowUnitsMax) count -= std::min(count, cost);
}

// How long after the grant the bucket is full again, according to the grant's outcome: at least this long.
Span queue_end(const LimitParams& p, Span moment, const Grant& grant) {
  const bool untouched = moment > Span{} && moment <= gcra::full(p) &&
                         gcra::ceil_us(moment) == grant.reset_after_us &&
                         gcra::whole_units(p, gcra::minus(p, gcra::full(p), moment)) == grant.remaining;
  if (untouched) return moment;
  return std::max(Span{grant.reset_after_us - 1, 0}, gcra::plus_units(p, {}, grant.cost));
}

State bucket_without(const LimitParams& p, const State& state, std::int64_t now_us, const Grant& grant) {
  if (state.at < now_us || grant.cost > p.capacity) return state;
  const std::int64_t fraction = std::clamp<std::int64_t>(state.first, 0, p.denominator - 1);
  Span left = queue_end(p, {state.at - grant.at_us, fraction}, grant);
  left.us -= now_us - grant.at_us;
  if (left < Span{}) return state;
  const Span used{state.at - now_us, fraction};
  const Span given = std::min({left, gcra::plus_units(p, {}, grant.cost), used});
  // Of the buckets, only a leaky one has a denied cost.
  return leaky_bucket::with_denied_cost(gcra::with_used(now_us, gcra::minus(p, used, given)), state.second,
                                        now_us);
}

State fixed_window_without(const LimitParams& p, State state, const Grant& grant) {
  const std::int64_t end_us = grant.at_us + grant.reset_after_us;
  const std::int64_t index =
      std::max(end_us / p.rate.period_us - 1, floor_div(grant.at_us, p.rate.period_us));
  if (state.at == index) take_from(state.first, grant.cost);
  return state;
}

State sliding_window_without(const LimitParams& p, State state, const Grant& grant) {
  const std::int64_t faded_us = grant.at_us + grant.reset_after_us;
  const std::int64_t index =
      std::max(faded_us / p.rate.period_us - 2, floor_div(grant.at_us, p.rate.period_us));
  if (state.at == index)
    take_from(state.first, grant.cost);
  else if (state.at == index + 1)
    take_from(state.second, grant.cost);
  return state;
}

State without_latest(const LimitParams& p, const State& state, std::int64_t now_us, std::int64_t cost) {
  State settled = step(p, state, now_us, 0).state;
  if (p.is_bucket()) {
    Grant last;  // as if it had been charged right now
    last.at_us = now_us;
    last.cost = std::min(cost, p.capacity);
    return bucket_without(p, settled, now_us, last);
  }
  const std::int64_t current = settled.first;
  take_from(settled.first, cost);
  take_from(settled.second, cost - (current - settled.first));  // a fixed window has none
  return settled;
}

void take_latest(Log& log, std::int64_t cost) {
  while (cost > 0 && !log.empty() && log.back().cost < kWindowUnitsMax) {
    const std::int64_t taken = std::min(log.back().cost, cost);
    cost -= taken;
    log.back().cost -= taken;
    if (log.back().cost == 0) log.pop_back();
  }
}

State without(const LimitParams& p, const State& state, std::int64_t now_us, const Grant& grant) {
  if (grant.at_us == Grant::kAnyTime) return without_latest(p, state, now_us, grant.cost);
  switch (p.family()) {
    case Family::kBucket:
      return bucket_without(p, state, now_us, grant);
    case Family::kFixedWindow:
      return fixed_window_without(p, state, grant);
    case Family::kSlidingWindow:
      return sliding_window_without(p, state, grant);
    case Family::kSlidingLog:
      break;  // it has a Log, see below
  }
  std::unreachable();
}

}  // namespace

Grant under_other_numbers(const LimitParams& kept_by, const LimitParams& granted_by, const Grant& grant) {
  std::int64_t cost = grant.cost;
  if (grant.at_us != Grant::kAnyTime || granted_by.capacity == 0)
    cost = 0;
  else if (kept_by.scale > 0 && granted_by.scale > 0)
    cost = std::min(cost, floor_div(cost * kept_by.scale, granted_by.scale));
  return {grant.at_us, cost, {}};
}

State refund(const LimitParams& p, const State& state, std::int64_t now_us, const Grant& grant) {
  assert(p.algorithm != Algorithm::kSlidingLog && in_range(now_us, grant));
  if (p.capacity == 0) return state;
  return step(p, without(p, state, now_us, grant), now_us, 0).state;
}

void refund(const LimitParams& p, Log& log, std::int64_t now_us, const Grant& grant) {
  assert(p.algorithm == Algorithm::kSlidingLog && in_range(now_us, grant));
  if (p.capacity == 0) return;
  if (grant.at_us == Grant::kAnyTime) {
    step(p, log, now_us, 0);
    return take_latest(log, grant.cost);
  }
  const std::int64_t written_us =
      std::max(grant.at_us + grant.reset_after_us - p.rate.period_us, grant.at_us);
  const auto entry = std::ranges::find(log, written_us, &LogEntry::at_us);
  if (entry != log.end()) {
    take_from(entry->cost, grant.cost);
    if (entry->cost == 0) log.erase(entry);
  }
  step(p, log, now_us, 0);
}

}  // namespace sluice

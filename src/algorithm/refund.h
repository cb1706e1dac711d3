#pragma once

#include <cstdint>

#include "algorithm/limit_params.h"
#include "algorithm/step.h"
#include "base/limits.h"

// Giving back a charge that was admitted and, as it turned out, is not wanted: another limit of the same
// check, charged elsewhere at the same time, had no room.
//
//   Stepped stepped = step(limit, state, granted_at_us, 5);                  // allowed
//   …                                                                         // others come and go
//   state = refund(limit, state, now_us, {granted_at_us, 5, stepped.outcome});
//
// The promise: if nothing came in between, the state is what a look at `now_us` would have made of the one
// before the charge, bit for bit. Whatever came in between, there is never more room afterwards than if the
// charge had never been, the others decided as they were.
//
//   fixed_window     the cost leaves the window it was counted in. Exact. A window that is over gives nothing
//                    back.
//   sliding_window   the same, be that window the current one or, still fading, the one before. Exact.
//   sliding_log      the cost leaves the entry it was written to. Exact.
//   buckets          a bucket refills its charges in the order in which they came, like a queue:
//
//                        now        ┌─ refill of the charge ─┐
//                    ─────┼─ before ┴────────────────────────┴─ those that came after ─► full again
//
//                    What has been refilled of this charge by now is gone; the rest is taken out, and those
//                    behind move up. Nearly always that is all of it: nothing of it has been refilled while
//                    there is something before it. Only to a bucket that was all but full, and would have
//                    lost that time to idleness, less is given back.
//
// A refund never gives back more than the cost, and never makes a counter better than fresh, whatever the
// state and however the clock goes. Several refunds at a time: windows and logs stay exact; a bucket may let
// pass, beyond its burst, as much as was granted and waited for its refund at one time, and only if it was
// all but full then. What a refund cannot know, so that it may take from others, the cost at most: that the
// counter was reset since, that the clock stepped back, that a denial with OnDenial::kCharge has emptied a
// bucket, or that other numbers have refilled it faster and it came back to these. The denied cost of a
// leaky_bucket decides nothing: set to 0 by the charge, it does not come back, and the check that is given
// back does not count in it.
//
// Units may also be given back by somebody who does not know when they were charged, nor whether all were
// (Grant::kAnyTime): then so many leave what is in use now, those that came last first, and never more than
// there are. In a fixed_window they leave the current window; in a sliding_window the current one and, if
// that has not so many, the one before; in a log the newest entries; in a bucket the end of the queue.
namespace sluice {

// What its caller knows of a charge that was allowed.
struct Grant {
  static constexpr std::int64_t kAnyTime = kExactMax;  // later than any time there is
  std::int64_t at_us = 0;  // kAnyTime: it is not known when, and the answer below means nothing
  std::int64_t cost = 0;
  // From its Outcome: they tell where in the queue of a bucket the charge is, and which window it was counted
  // in when the clock had stepped back. Both 0: not known; then it counts as the first charge of its bucket,
  // and less may be given back.
  std::int64_t remaining = 0;
  std::int64_t reset_after_us = 0;

  Grant() = default;
  Grant(std::int64_t granted_at_us, std::int64_t granted_cost, const Outcome& outcome)
      : at_us(granted_at_us),
        cost(granted_cost),
        remaining(outcome.remaining),
        reset_after_us(outcome.reset_after_us) {}
};

// The grant as other numbers see it, which the counter has come to since. If it is known when it was charged,
// nothing comes back: how much of it is left nobody knows. Other units do; between two scales, a share of
// them.
Grant under_other_numbers(const LimitParams& kept_by, const LimitParams& granted_by, const Grant& grant);

// Returns the state without the charge. What it is like then, a look (a step of cost 0) tells.
// REQUIRES: params.algorithm != kSlidingLog, and the grant was made under the same params; 0 <= now_us <
// 2^52.
State refund(const LimitParams& params, const State& state, std::int64_t now_us, const Grant& grant);

// The same for the sliding log, in place. REQUIRES: params.algorithm == kSlidingLog, 0 <= now_us < 2^52.
void refund(const LimitParams& params, Log& log, std::int64_t now_us, const Grant& grant);

}  // namespace sluice

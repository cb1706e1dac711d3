#pragma once

#include <cstdint>

#include "algorithm/limit_params.h"
#include "algorithm/step.h"
#include "base/limits.h"

// Gives back a charge that was admitted and turned out to be unwanted: another limit of the same check,
// charged elsewhere at the same time, had no room.
//
//   Stepped stepped = step(limit, state, granted_at_us, 5);                  // allowed
//   …                                                                         // others come and go
//   state = refund(limit, state, now_us, {granted_at_us, 5, stepped.outcome});
//
// The promise: if nothing happened in between, the result is, bit for bit, the state before the charge as a
// look at `now_us` would leave it. Whatever happened in between, there is never more room afterwards than if
// the charge had never been made and all other decisions were the same.
//
//   fixed_window     the cost is removed from the window it was counted in. Exact. A window that is over
//                    gives nothing back.
//   sliding_window   the same, for the current window and for the previous one, which still fades. Exact.
//   sliding_log      the cost is removed from the entry it was written to. Exact.
//   buckets          a bucket refills its charges in the order in which they came, like a queue:
//
//                        now        ┌─ refill of the charge ─┐
//                    ─────┼─ before ┴────────────────────────┴─ later charges ─► full again
//
//                    The part of this charge that has been refilled by now is gone. The rest is taken out,
//                    and the later charges move up. Nearly always the rest is the whole charge: none of it
//                    is refilled while there is an earlier charge. Less is given back only to a bucket that
//                    was almost full, and would have lost that time to idleness.
//
// A refund never gives back more than the cost, and never leaves a counter better than fresh, whatever the
// state and the clock. With several refunds at a time, windows and logs stay exact. A bucket may admit,
// beyond its burst, as much as was granted and waiting for its refund at one time, and only if it was almost
// full then.
//
// A refund cannot know some things, and may then take up to the cost from other charges: the counter was
// reset since; the clock stepped back; a denial with OnDenial::kCharge has emptied a bucket; or other numbers
// refilled the bucket faster before it came back to these. The denied cost of a leaky_bucket decides nothing:
// the charge set it to 0, the refund does not restore it, and the refunded check is not added to it.
//
// A caller may also give back units without knowing when they were charged, or whether all of them were
// (Grant::kAnyTime). Then that many are taken from the units in use now, the latest first, and never more
// than there are. A fixed_window takes them from the current window; a sliding_window from the current one
// and, if that has too few, the previous one; a log from its newest entries; a bucket from the end of the
// queue.
namespace sluice {

// What the caller knows about a charge that was allowed.
struct Grant {
  static constexpr std::int64_t kAnyTime = kExactMax;  // later than any real time
  std::int64_t at_us = 0;  // kAnyTime: the time is not known; `remaining` and `reset_after_us` mean nothing
  std::int64_t cost = 0;
  // From the Outcome of the charge. They tell the charge's place in the queue of a bucket, and which window
  // it was counted in if the clock had stepped back. Both 0: not known; then it counts as the first charge of
  // its bucket, and less may be given back.
  std::int64_t remaining = 0;
  std::int64_t reset_after_us = 0;

  Grant() = default;
  Grant(std::int64_t granted_at_us, std::int64_t granted_cost, const Outcome& outcome)
      : at_us(granted_at_us),
        cost(granted_cost),
        remaining(outcome.remaining),
        reset_after_us(outcome.reset_after_us) {}
};

// The grant under the other numbers that the counter has moved to since. If the time of the charge is known,
// nothing comes back: nobody can tell how much of it is left. With kAnyTime the units do come back; between
// two scales, converted by their ratio.
Grant under_other_numbers(const LimitParams& kept_by, const LimitParams& granted_by, const Grant& grant);

// Returns the state without the charge. A look (a step of cost 0) tells the resulting level.
// REQUIRES: params.algorithm != kSlidingLog, and the grant was made under the same params; 0 <= now_us <
// 2^52.
State refund(const LimitParams& params, const State& state, std::int64_t now_us, const Grant& grant);

// The same for the sliding log, in place. REQUIRES: params.algorithm == kSlidingLog, 0 <= now_us < 2^52.
void refund(const LimitParams& params, Log& log, std::int64_t now_us, const Grant& grant);

}  // namespace sluice

#pragma once

#include <cstdint>

#include "algorithm/step.h"

// What becomes of a counter when the numbers of its limit change: at its next touch its state is turned into
// one of the new numbers, by `to.on_change`. Pure functions.
//
//   keep           units in use stay in use, at most as many as fit: a raised limit helps at once, a lowered
//                  one denies until consumption fits. Nothing is rounded where nothing needs to be: buckets
//                  of the same rate keep their level, windows of the same algorithm and period their counts.
//   proportional   the same share of the limit is in use: 60 of 100 become 120 of 200, in whole units,
//   rounded
//                  up.
//   reset          nothing is in use.
//
// Another family (bucket, window, log) understands the units in use all the same. Where the numbers are the
// same and only `on_change` is another, the state stays as it is.
namespace sluice {

// REQUIRES: neither is a sliding log.
State migrate(const LimitParams& from, const LimitParams& to, const State& state, std::int64_t now_us);

// REQUIRES: `from` is a sliding log and `to` is none, and the other way round.
State migrate_from_log(const LimitParams& from, const LimitParams& to, Log log, std::int64_t now_us);
Log migrate_to_log(const LimitParams& from, const LimitParams& to, const State& state, std::int64_t now_us);

// From one sliding log to another, in place. What happened when is all that a log knows, so kept it means the
// same under any limit; a share of the limit is taken from each entry, beginning with the newest.
void migrate_log(const LimitParams& from, const LimitParams& to, Log& log, std::int64_t now_us);

}  // namespace sluice

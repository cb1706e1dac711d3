#pragma once

#include <cstdint>

#include "algorithm/step.h"

// What happens to a counter that is checked under other numbers than those it is kept under: the limit has
// changed, or the key has another tier, an override, or numbers sent with the call. (The numbers of a
// limit are its LimitParams: algorithm, rate, capacity, scale.) Pure functions.
//
// Used units stay used. The numbers only interpret them. So the counter stays under the numbers by which it
// was last charged, and drains as they say, until a charge under other numbers can take all of it along:
//
//   look               writes nothing
//   admission          the use so far and the cost are kept under the new numbers: together they fit
//   denial             nothing moves (a step under the old numbers still forgets what has expired), unless
//                      the new numbers can hold all of the use and would make room sooner: so a raised
//                      limit helps even a caller that retries too early
//   denial that counts adds its charge and moves, if the new numbers can hold the use
//   nothing in use     moves at once: the counter is as good as forgotten
//
//       kept by 100/d, 100 used                  ┌─ checked by 1/d: denied, the use does not fit into 1
//   ──────────────┼──────────────────────────────┼────────────────────────┼─ checked by 100/d: 100 used,
//                 used up                        nothing is written         less what was freed meanwhile
//
// If the counter were clamped to what 1/d can hold, the next 99 units would be given away.
//
// Units in use stay in use: a raised limit helps at once, a lowered one denies until the use fits. Nothing is
// rounded unless it must be: buckets of the same rate keep their level, windows of the same algorithm and
// period are the same counter, logs keep their entries.
//
// Numbers with a scale count shares. `on_change: proportional` gives all numbers of one version of a limit,
// its tiers included, the same scale: the capacity of the limit without a tier. Between two scales the use is
// converted by their ratio, in whole units, rounded up: 60 used under scale 100 are 120 under scale 200, and
// 60 again when the key goes back. So a key gains nothing by alternating between two versions that are in
// force side by side.
namespace sluice {

// The content of a counter: a Log for a sliding log, else a State.
struct Kept {
  State state = {};
  Log log = {};
};

// True when a counter is the same under both, so that nothing has to move: all numbers are equal or, for
// windows, all numbers that a count depends on.
bool same_numbers(const LimitParams& a, const LimitParams& b);

struct Moved {
  Kept kept;
  bool whole =
      true;  // `kept` holds all of the use; false: the new numbers are used up, and `kept` must not be stored
};

// The counter as the new numbers see it.
Moved moved(const LimitParams& from, const LimitParams& to, const Kept& kept, std::int64_t now_us);

struct Touch {
  std::int64_t now_us = 0;
  std::int64_t cost = 0;
  OnDenial on_denial = OnDenial::kFree;
  bool others_fit = true;  // false: another limit of the check has no room
};

struct Touched {
  Outcome outcome;
  std::int64_t denied_cost = 0;  // of a leaky_bucket that was a leaky_bucket before, too
  bool moved = false;            // `kept` is under the new numbers
  Kept kept;                     // if not moved, under the old: unchanged by a look, else as after a denial
};

// Decides `cost` under `to` on a counter that is kept under `from`. retry_after_us is exact: without other
// traffic, the cost fits then and not before.
// REQUIRES: as step().
Touched touch(const LimitParams& from, const LimitParams& to, const Kept& kept, const Touch& touch);

// When a cost of 1 fits if nobody comes before: the counter stays as it is, for a look moves nothing.
std::int64_t one_unit_after_us(const LimitParams& from, const LimitParams& to, const Kept& kept,
                               std::int64_t now_us);

}  // namespace sluice

#pragma once

#include <cstdint>

#include "algorithm/step.h"

// What becomes of a counter that is asked under other numbers than those it is kept under: the limit has
// changed, or the key has another tier, an override, numbers that a call brings along. Pure functions.
//
// What was used stays used. The numbers only interpret it, so the counter stays under those by which it was
// last charged, and drains as they say, until a charge under others can take all of it along:
//
//   look               writes nothing
//   admission          what was used and the cost are kept under the new numbers: together they fit
//   denial             nothing moves (what a step under the former numbers would forget is forgotten); except
//                      where the new numbers can hold all that was used and would make room sooner: so a
//                      raised limit helps even him who comes too early
//   denial that counts adds what it adds and moves, if the new numbers can hold what was used
//   nothing in use     moves at once: it might as well have been forgotten
//
//       kept by 100/d, 100 used                  ┌─ asked by 1/d: denied, for the use does not fit into 1
//   ──────────────┼──────────────────────────────┼────────────────────────┼─ asked by 100/d: 100 used,
//                 used up                        nothing is written         but for what has come back
//
// Were the counter clamped to what 1/d can hold, the next 99 would be given away.
//
// Units in use stay in use: a raised limit helps at once, a lowered one denies until the use fits. Nothing is
// rounded where nothing needs to be: buckets of the same rate keep their level, windows of the same algorithm
// and period are the same counter, logs keep their entries.
//
// Numbers with a scale count shares: `on_change: proportional` gives all numbers of one version of a limit,
// its tiers included, the capacity of its plain ones as their scale. Between two scales use is taken along by
// their ratio, in whole units, rounded up: 60 used under scale 100 are 120 under scale 200, and 60 again when
// the key goes back. So whoever goes to and fro between two versions that decide side by side gains nothing.
namespace sluice {

// What a counter holds: a State or, of a sliding log, a Log.
struct Kept {
  State state = {};
  Log log = {};
};

// True when a counter is the same under both, so that nothing needs to be moved: all numbers are equal or, of
// windows, all that a count depends on.
bool same_numbers(const LimitParams& a, const LimitParams& b);

struct Moved {
  Kept kept;
  bool whole =
      true;  // all that was used is in it; else the new numbers are used up, and it is not to be kept
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
  std::int64_t denied_cost = 0;  // of a leaky_bucket that was one before, too
  bool moved = false;            // what is kept is under the new numbers from now on
  Kept kept;                     // else under the former: unchanged by a look, else as after a denial there
};

// Decides `cost` under `to` on a counter that is kept under `from`. retry_after_us is exact: if nobody else
// comes, the cost fits then and not before.
// REQUIRES: as step().
Touched touch(const LimitParams& from, const LimitParams& to, const Kept& kept, const Touch& touch);

}  // namespace sluice

#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "algorithm/testing/lives.h"

namespace sluice {

// One step of somebody who wants more from a counter than it should give. Waits are chosen where algorithms
// are weak: at the edges of windows, when a unit has just come back, a period after the last time.
struct Move {
  enum class Wait : std::uint8_t {
    kNone,
    kOne,
    kBeforeEdge,
    kToEdge,
    kUntilRoom,
    kPeriodLessOne,
    kSome,
    kCount
  };
  enum class Act : std::uint8_t {
    kTake,      // and keep
    kHold,      // take, to be given back later
    kGiveBack,  // one of those that are held
    kBack,      // the clock goes back
    kForth,     // … and to where it would be otherwise
  };
  Wait wait = Wait::kNone;
  Act act = Act::kTake;
  std::int64_t part = 0;  // per mille of what `wait`, `act` or the cost leave open
  bool takes_all = true;

  // How long it waits before it acts.
  std::int64_t wait_us(const Counter& counter, std::int64_t now_us) const {
    const std::int64_t period_us = counter.limit.rate.period_us;
    const std::int64_t to_edge_us = period_us - now_us % period_us;
    switch (wait) {
      case Wait::kOne:
        return 1;
      case Wait::kBeforeEdge:
        return to_edge_us - 1;
      case Wait::kToEdge:
        return to_edge_us;
      case Wait::kUntilRoom:
        return std::max<std::int64_t>(counter.would(now_us, 1).retry_after_us, 0);
      case Wait::kPeriodLessOne:
        return period_us - 1;
      case Wait::kSome:
        return period_us / 1000 * part;
      default:
        return 0;
    }
  }
  // At least 1.
  std::int64_t cost(const Counter& counter, std::int64_t now_us) const {
    const std::int64_t room = counter.would(now_us, 0).remaining;
    return std::max<std::int64_t>(takes_all ? room : room * part / 1000, 1);
  }
};

using Schedule = std::vector<Move>;

// Searches for the schedule that does the most damage: begins with some, changes one move at a time, and
// keeps what is not worse. Not thread-safe.
class Adversary {
 public:
  // `acts`: what its moves may be; kTake more often than each of the others.
  Adversary(Dice& dice, std::vector<Move::Act> acts) : dice_(dice), acts_(std::move(acts)) {}

  Schedule any(std::size_t moves) {
    Schedule schedule(moves);
    for (Move& move : schedule) move = any_move();
    return schedule;
  }

  // `damage`: of a schedule; it also fails the test if there is more than may be. Returns the worst found.
  template <class Damage>
  double worst(Schedule best, int tries, Damage damage) {
    double most = damage(best);
    for (int i = 0; i < tries; ++i) {
      Schedule changed = best;
      changed[static_cast<std::size_t>(dice_.between(0, std::ssize(changed) - 1))] = any_move();
      const double done = damage(changed);
      if (done < most) continue;
      most = done;
      best = std::move(changed);
    }
    return most;
  }

 private:
  Move any_move() {
    Move move;
    move.wait = static_cast<Move::Wait>(dice_.between(0, static_cast<std::int64_t>(Move::Wait::kCount) - 1));
    const std::int64_t act = dice_.between(0, std::ssize(acts_));
    move.act = act == 0 ? Move::Act::kTake : acts_[static_cast<std::size_t>(act - 1)];
    move.part = dice_.between(0, 1000);
    move.takes_all = dice_.between(0, 3) > 0;
    return move;
  }

  Dice& dice_;
  const std::vector<Move::Act> acts_;
};

}  // namespace sluice

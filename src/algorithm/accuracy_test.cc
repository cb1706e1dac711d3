// The shapes of docs/accuracy.md: what an algorithm lets pass at most, held against an adversary that
// searches for the schedule that gets the most. Each test prints how near it came. A failure prints a seed;
// SLUICE_SEED=… replays it.

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "algorithm/refund.h"
#include "algorithm/testing/adversary.h"
#include "algorithm/testing/limits.h"
#include "base/arith.h"
#include "base/testing/bound_watch.h"

namespace sluice {
namespace {

using enum Algorithm;
using Act = Move::Act;
using Wait = Move::Wait;

// What comes back in this time at the limit's rate.
std::int64_t refilled(const LimitParams& limit, std::int64_t us) {
  return mul_add_floor_div(limit.rate.count, us, 0, limit.rate.period_us);
}

// A(T) of docs/accuracy.md: the most that may be admitted from one moment to another, both included.
std::int64_t most_between(const LimitParams& limit, std::int64_t from_us, std::int64_t to_us) {
  const std::int64_t period_us = limit.rate.period_us;
  if (limit.algorithm == kFixedWindow) return limit.capacity * (to_us / period_us - from_us / period_us + 1);
  if (limit.algorithm == kSlidingLog) return limit.capacity * ((to_us - from_us) / period_us + 1);
  return limit.capacity + refilled(limit, to_us - from_us);
}

// A(P) of docs/accuracy.md: the most in any one period, wherever it begins.
std::int64_t most_in_a_period(const LimitParams& limit) {
  if (limit.algorithm == kSlidingLog) return limit.capacity;
  return limit.capacity + limit.rate.count;
}

// The most that was admitted in less than a period.
std::int64_t worst_period(const LimitParams& limit, const std::vector<Admission>& admitted) {
  std::int64_t worst = 0;
  for (std::size_t last = 0; last < admitted.size(); ++last) {
    std::int64_t sum = 0;
    for (std::size_t i = last + 1; i-- > 0;) {
      if (admitted[last].at_us - admitted[i].at_us >= limit.rate.period_us) break;
      worst = std::max(worst, sum += admitted[i].cost);
    }
  }
  return worst;
}

std::vector<Admission> play(const LimitParams& limit, std::int64_t now_us, const Schedule& schedule) {
  Counter counter{limit};
  std::vector<Admission> admitted;
  for (const Move& move : schedule) {
    now_us += move.wait_us(counter, now_us);
    const std::int64_t cost = move.cost(counter, now_us);
    if (counter.decide(now_us, cost).allowed) admitted.push_back({now_us, cost});
  }
  return admitted;
}

class Accuracy : public testing::TestWithParam<Algorithm> {
 protected:
  static constexpr int kLimits = 20, kTries = 200, kMoves = 12;

  std::string title(const std::string& what) const {
    return std::string(to_string(GetParam())) + ", " + what;
  }
  std::int64_t some_time_us() { return dice_.between(1LL << 45, 1LL << 51); }

  const std::uint32_t seed_ = seed_for_test();
  Dice dice_{seed_};
};

TEST_P(Accuracy, NoPeriodHoldsMoreThanDocumented) {
  BoundWatch watch(title("in any period"), seed_);
  Adversary adversary(dice_, {Act::kTake});
  // What is known to hurt: all of it just before an edge, at the edge, and a period later.
  const Schedule known = {{.wait = Wait::kBeforeEdge},    {.wait = Wait::kOne},
                          {.wait = Wait::kUntilRoom},     {.wait = Wait::kBeforeEdge},
                          {.wait = Wait::kPeriodLessOne}, {.wait = Wait::kOne}};
  for (int i = 0; i < kLimits && !HasFailure(); ++i) {
    const LimitParams limit = dice_.limit(GetParam());
    const std::int64_t start_us = some_time_us();
    const auto damage = [&](const Schedule& schedule) {
      const std::int64_t worst = worst_period(limit, play(limit, start_us, schedule));
      watch.see(worst, most_in_a_period(limit));
      return static_cast<double>(worst);
    };
    damage(known);
    adversary.worst(adversary.any(kMoves), kTries, damage);
  }
  EXPECT_GT(watch.nearest(), 0.9) << "it hardly tried";
}

TEST_P(Accuracy, NoSpanHoldsMoreThanDocumented) {
  BoundWatch watch(title("in spans of up to twelve periods"), seed_);
  Adversary adversary(dice_, {Act::kTake});
  for (int i = 0; i < kLimits && !HasFailure(); ++i) {
    const LimitParams limit = dice_.limit(GetParam());
    const std::int64_t start_us = some_time_us();
    adversary.worst(adversary.any(kMoves), kTries, [&](const Schedule& schedule) {
      const std::vector<Admission> admitted = play(limit, start_us, schedule);
      double worst = 0;
      for (std::size_t last = 0; last < admitted.size(); ++last) {
        std::int64_t sum = 0;
        for (std::size_t first = last + 1; first-- > 0;) {
          sum += admitted[first].cost;
          const std::int64_t most = most_between(limit, admitted[first].at_us, admitted[last].at_us);
          if (sum > most || last - first == admitted.size() - 1) watch.see(sum, most);
          if (last - first > 2) worst = std::max(worst, static_cast<double>(sum) / static_cast<double>(most));
        }
      }
      return worst;
    });
  }
}

// What a clock that steps ahead by this much gives at most.
std::int64_t given_by_step(const LimitParams& limit, std::int64_t ahead_us) {
  if (limit.algorithm == kFixedWindow) return 2 * limit.capacity;  // it may pass an edge, and meet another
  if (limit.algorithm == kSlidingLog) return limit.capacity;
  return std::min(limit.capacity, refilled(limit, ahead_us) + 1);
}

// The clock goes back, and later forth to the right time.
TEST_P(Accuracy, AClockThatGoesBackAndForthGivesNoMoreThanDocumented) {
  BoundWatch watch(title("with a clock that goes back and forth"), seed_);
  Adversary adversary(dice_, {Act::kTake, Act::kBack, Act::kForth});
  for (int i = 0; i < kLimits && !HasFailure(); ++i) {
    const LimitParams limit = dice_.limit(GetParam());
    const std::int64_t start_us = some_time_us();
    adversary.worst(adversary.any(kMoves), kTries, [&](const Schedule& schedule) {
      Counter counter{limit};
      std::int64_t right_us = start_us, behind_us = 0, sum = 0, given = 0;
      for (const Move& move : schedule) {
        right_us += move.wait_us(counter, right_us - behind_us);
        if (move.act == Act::kBack) {
          behind_us += limit.rate.period_us / 1000 * move.part * 3;
        } else if (move.act == Act::kForth) {
          given += given_by_step(limit, std::exchange(behind_us, 0));
        }
        const std::int64_t now_us = right_us - behind_us;
        const std::int64_t cost = move.cost(counter, now_us);
        if (counter.decide(now_us, cost).allowed) sum += cost;
      }
      // Edges are where the clock sees them, so a span of this length may touch one more window.
      const std::int64_t period_us = limit.rate.period_us, passed_us = right_us - start_us;
      const std::int64_t promised = limit.algorithm == kFixedWindow
                                        ? limit.capacity * (passed_us / period_us + 2)
                                        : most_between(limit, start_us, right_us);
      const std::int64_t most = promised + given;
      watch.see(sum, most);
      return static_cast<double>(sum) / static_cast<double>(most);
    });
  }
}

// Limits on several slots: a charge that another slot denies is given back a round trip later.
TEST_P(Accuracy, RefundsGiveNoMoreThanWaitedForThemAtOneTime) {
  BoundWatch watch(title("beyond the limit, because of refunds that waited"), seed_);
  Adversary adversary(dice_, {Act::kTake, Act::kHold, Act::kHold, Act::kGiveBack, Act::kGiveBack});
  const bool is_bucket = dice_.limit(GetParam()).is_bucket();
  for (int i = 0; i < kLimits && !HasFailure(); ++i) {
    const LimitParams limit = dice_.limit(GetParam());
    const std::int64_t start_us = some_time_us();
    adversary.worst(adversary.any(2 * kMoves), kTries, [&](const Schedule& schedule) {
      Counter counter{limit};
      std::vector<Grant> held;
      std::vector<Admission> kept;
      std::int64_t now_us = start_us, waiting = 0, most_waiting = 0, worst = 0;
      for (const Move& move : schedule) {
        now_us += move.wait_us(counter, now_us);
        if (move.act == Act::kGiveBack) {
          if (held.empty()) continue;
          const auto one = held.begin() + move.part % std::ssize(held);
          if (limit.algorithm == kSlidingLog)
            refund(limit, counter.log, now_us, *one);
          else
            counter.state = refund(limit, counter.state, now_us, *one);
          waiting -= one->cost;
          held.erase(one);
          continue;
        }
        const std::int64_t cost = move.cost(counter, now_us);
        const Outcome outcome = counter.decide(now_us, cost);
        if (!outcome.allowed) continue;
        if (move.act == Act::kHold) {
          held.emplace_back(now_us, cost, outcome);
          most_waiting = std::max(most_waiting, waiting += cost);
          continue;
        }
        kept.push_back({now_us, cost});
        std::int64_t sum = 0;
        for (std::size_t first = kept.size(); first-- > 0;) {
          sum += kept[first].cost;
          worst = std::max(worst, sum - most_between(limit, kept[first].at_us, now_us));
        }
      }
      watch.see(worst, is_bucket ? most_waiting : 0);
      return static_cast<double>(worst) / static_cast<double>(std::max<std::int64_t>(most_waiting, 1));
    });
  }
}

// Too few: it remembers units for too long that came at the start of the previous window.
TEST_P(Accuracy, ASlidingWindowDeniesNoMoreThanDocumented) {
  if (GetParam() != kSlidingWindow) return;  // the others deny only what does not fit: promises_test.cc
  BoundWatch watch(title("denied although the last period has room"), seed_);
  Adversary adversary(dice_, {Act::kTake});
  for (int i = 0; i < kLimits && !HasFailure(); ++i) {
    const LimitParams limit = dice_.limit(GetParam());
    const std::int64_t start_us = some_time_us(), period_us = limit.rate.period_us;
    adversary.worst(adversary.any(kMoves), kTries, [&](const Schedule& schedule) {
      Counter counter{limit};
      std::vector<Admission> admitted;
      std::int64_t now_us = start_us, worst = 0;
      for (const Move& move : schedule) {
        now_us += move.wait_us(counter, now_us);
        const std::int64_t elapsed_us = now_us % period_us;
        std::int64_t previous = 0, in_last_period = 0;
        for (const Admission& one : admitted) {
          in_last_period += one.at_us > now_us - period_us ? one.cost : 0;
          previous += one.at_us / period_us == now_us / period_us - 1 ? one.cost : 0;
        }
        const std::int64_t missing = limit.capacity - in_last_period - counter.would(now_us, 0).remaining;
        watch.see(std::max<std::int64_t>(missing, 0),
                  mul_ceil_div(previous, period_us - elapsed_us, period_us));
        worst = std::max(worst, missing);
        const std::int64_t cost = move.cost(counter, now_us);
        if (counter.decide(now_us, cost).allowed) admitted.push_back({now_us, cost});
      }
      return static_cast<double>(worst);
    });
  }
  EXPECT_GT(watch.nearest(), 0.9) << "it hardly tried";
}

INSTANTIATE_TEST_SUITE_P(All, Accuracy,
                         testing::Values(kGcra, kTokenBucket, kLeakyBucket, kFixedWindow, kSlidingWindow,
                                         kSlidingLog),
                         [](const auto& algorithm) { return std::string(to_string(algorithm.param)); });

}  // namespace
}  // namespace sluice

// Properties that must hold for every counter, tried on random lives of counters. A failure prints a seed;
// SLUICE_SEED=… replays it.

#include <gtest/gtest.h>

#include <string>

#include "algorithm/step.h"
#include "algorithm/testing/limits.h"
#include "algorithm/testing/lives.h"
#include "base/limits.h"

namespace sluice {
namespace {

using enum Algorithm;

class Oracle : public testing::TestWithParam<Algorithm> {
 protected:
  Algorithm algorithm() const { return GetParam(); }

  // Calls `check(counter, now_us, cost)` along random lives, each time before the step with that cost.
  template <class Check>
  void live(OnDenial on_denial, Check check) {
    for (int life = 0; life < 150 && !HasFailure(); ++life) {
      Counter counter{dice_.limit(algorithm())};
      std::int64_t now_us = dice_.between(0, 1LL << 51);
      for (int i = 0; i < 40 && !HasFailure(); ++i) {
        now_us += dice_.pause_us(counter.limit);
        const std::int64_t cost = dice_.cost(counter.limit);
        SCOPED_TRACE("life " + std::to_string(life) + ": " + std::to_string(counter.limit.rate.count) +
                     " per " + std::to_string(counter.limit.rate.period_us) + "us, capacity " +
                     std::to_string(counter.limit.capacity) + "; cost " + std::to_string(cost) + " at " +
                     std::to_string(now_us));
        check(counter, now_us, cost);
        counter.decide(now_us, cost, on_denial);
      }
    }
  }

  const std::uint32_t seed_ = seed_for_test();
  testing::ScopedTrace trace_{__FILE__, __LINE__, "SLUICE_SEED=" + std::to_string(seed_)};
  Dice dice_{seed_};
};

TEST_P(Oracle, RetryAfterIsEnoughAndNotAMicrosecondTooLong) {
  for (const OnDenial on_denial : kBoth) {
    int denials = 0;
    live(on_denial, [&](Counter counter, std::int64_t now_us, std::int64_t cost) {
      const Outcome outcome = counter.decide(now_us, cost, on_denial);
      ASSERT_EQ(outcome.retry_after_us == 0, outcome.allowed);
      ASSERT_EQ(outcome.retry_after_us == kNever, cost > counter.limit.capacity);
      if (outcome.retry_after_us <= 0) return;
      ++denials;
      ASSERT_TRUE(counter.would(now_us + outcome.retry_after_us, cost, on_denial).allowed);
      ASSERT_FALSE(counter.would(now_us + outcome.retry_after_us - 1, cost, on_denial).allowed);
    });
    EXPECT_GT(denials, 100);
  }
}

TEST_P(Oracle, RemainingIsTheLargestCostThatFits) {
  for (const OnDenial on_denial : kBoth)
    live(on_denial, [&](Counter counter, std::int64_t now_us, std::int64_t cost) {
      const std::int64_t remaining = counter.decide(now_us, cost, on_denial).remaining;
      ASSERT_TRUE(counter.would(now_us, remaining).allowed);
      ASSERT_FALSE(counter.would(now_us, remaining + 1).allowed);
    });
}

TEST_P(Oracle, ResetAfterIsWhenTheCounterIsFreshAgain) {
  for (const OnDenial on_denial : kBoth)
    live(on_denial, [&](Counter counter, std::int64_t now_us, std::int64_t cost) {
      const std::int64_t reset = counter.decide(now_us, cost, on_denial).reset_after_us;
      if (algorithm() == kLeakyBucket) counter.state.second = 0;  // the denied cost is remembered longer
      ASSERT_TRUE(counter.fresh(now_us + reset));
      if (reset > 0) {
        ASSERT_FALSE(counter.fresh(now_us + reset - 1));
      }
    });
}

TEST_P(Oracle, ALookChangesNothing) {
  for (const OnDenial on_denial : kBoth)
    live(on_denial, [&](Counter counter, std::int64_t now_us, std::int64_t cost) {
      Counter looked = counter;
      ASSERT_TRUE(looked.decide(now_us, 0).allowed);
      looked.decide(now_us, 0, on_denial);
      ASSERT_EQ(looked.decide(now_us, cost, on_denial), counter.decide(now_us, cost, on_denial));
      ASSERT_EQ(looked.state, counter.state);
      ASSERT_EQ(looked.log, counter.log);
    });
}

// The total use, denied costs included, is known only to this test, and only in a life without pauses.
TEST_P(Oracle, ALookIsDeniedOnlyByAWindowThatCountsDenialsAndIsExceeded) {
  const bool is_window = algorithm() == kFixedWindow || algorithm() == kSlidingWindow;
  for (int life = 0; life < 100; ++life) {
    Counter counter{dice_.limit(algorithm())};
    const std::int64_t now_us = dice_.between(0, 1LL << 51);
    std::int64_t used = 0;
    for (int i = 0; i < 10; ++i) {
      const bool exceeded = used > counter.limit.capacity;
      ASSERT_TRUE(counter.would(now_us, 0).allowed);
      ASSERT_EQ(counter.would(now_us, 0, OnDenial::kCharge).allowed, !is_window || !exceeded);
      const std::int64_t cost = dice_.cost(counter.limit);
      counter.decide(now_us, cost, OnDenial::kCharge);
      used += cost;
    }
  }
}

TEST_P(Oracle, AFreshCounterDecidesAsOneThatWasForgotten) {
  int fresh = 0;
  live(OnDenial::kFree, [&](Counter kept, std::int64_t now_us, std::int64_t) {
    if (!kept.fresh(now_us)) return;
    ++fresh;
    Counter forgotten{kept.limit};
    for (int i = 0; i < 10; ++i) {
      now_us += dice_.pause_us(kept.limit);
      const std::int64_t cost = dice_.cost(kept.limit);
      ASSERT_EQ(kept.decide(now_us, cost), forgotten.decide(now_us, cost));
      ASSERT_EQ(kept.state, forgotten.state);
    }
  });
  EXPECT_GT(fresh, 150);
}

INSTANTIATE_TEST_SUITE_P(Every, Oracle,
                         testing::Values(kGcra, kTokenBucket, kLeakyBucket, kFixedWindow, kSlidingWindow,
                                         kSlidingLog),
                         name_of_param);

// States that no step would leave: of another limit, of a wrong clock, or simply garbage.
TEST(AnyState, WhateverItIsGivesNumbersInRange) {
  const std::uint32_t seed = seed_for_test();
  SCOPED_TRACE("SLUICE_SEED=" + std::to_string(seed));
  Dice dice(seed);
  for (int i = 0; i < 50'000 && !HasFailure(); ++i) {
    const LimitParams limit = dice.limit(static_cast<Algorithm>(dice.between(0, 4)));
    const std::int64_t now_us = dice.one_of({0, 1, dice.between(0, kExactMax / 2 - 1), kExactMax / 2 - 1});
    const std::int64_t near = limit.is_bucket() ? now_us : now_us / limit.rate.period_us;
    const State state{dice.one_of({0, near, near + 1, dice.between(0, kExactMax - 1), kExactMax - 1}),
                      dice.one_of({0, 1, dice.between(0, kWindowUnitsMax), kWindowUnitsMax}),
                      dice.one_of({0, 1, kDeniedCostMax})};
    const auto [after, outcome] = step(limit, state, now_us, dice.cost(limit), kBoth[i % 2]);
    ASSERT_TRUE(outcome.remaining >= 0 && outcome.remaining <= limit.capacity);
    // The wait is at most that for a full bucket, or for the window ahead of a wrong clock to pass and fade.
    const std::int64_t windows = limit.algorithm == kFixedWindow ? 2 : 3;
    const std::int64_t longest_us = limit.is_bucket() ? limit.full_us + 1 : windows * limit.rate.period_us;
    ASSERT_TRUE(outcome.retry_after_us >= kNever && outcome.retry_after_us <= longest_us);
    ASSERT_TRUE(outcome.reset_after_us >= 0 && outcome.reset_after_us <= longest_us);
    ASSERT_TRUE(after.at >= 0 && after.at < kExactMax);
    ASSERT_TRUE(after.first >= 0 && after.first <= kWindowUnitsMax);
    ASSERT_TRUE(after.second >= 0 && after.second <= kWindowUnitsMax);
  }
}

}  // namespace
}  // namespace sluice

// What the vector files cannot show: states passed in, and the length of logs.

#include "algorithm/step.h"

#include <gtest/gtest.h>

#include "algorithm/testing/limits.h"
#include "base/limits.h"
#include "base/time_units.h"

namespace sluice {
namespace {

using enum Algorithm;

LimitParams limit(Algorithm algorithm, std::int64_t count, std::int64_t period_us,
                  std::optional<std::int64_t> burst = {}) {
  return make_limit_params(algorithm, {count, period_us}, burst).value();
}

TEST(Step, TenPerSecondAdmitsTenAtOnceAndThenDenies) {
  for (const Algorithm algorithm : {kGcra, kTokenBucket, kLeakyBucket, kFixedWindow, kSlidingWindow}) {
    SCOPED_TRACE(to_string(algorithm));
    const LimitParams ten = limit(algorithm, 10, kSecondUs);
    State state;
    for (int i = 1; i <= 10; ++i) {
      const Stepped stepped = step(ten, state, 5 * kSecondUs, 1);
      EXPECT_TRUE(stepped.outcome.allowed);
      EXPECT_EQ(stepped.outcome.remaining, 10 - i);
      state = stepped.state;
    }
    EXPECT_FALSE(step(ten, state, 5 * kSecondUs, 1).outcome.allowed);
  }
}

TEST(Step, NoLimitHasRoomForTheCostThatNeverFits) {
  for (const OnDenial on_denial : {OnDenial::kFree, OnDenial::kCharge}) {
    const auto is_never = [](const Outcome& outcome) {
      return !outcome.allowed && outcome.retry_after_us == kNever;
    };
    for (const Algorithm algorithm : {kGcra, kTokenBucket, kLeakyBucket, kFixedWindow, kSlidingWindow}) {
      const LimitParams largest = limit(algorithm, kRateMax, kSecondUs);
      EXPECT_TRUE(is_never(step(largest, {}, 5 * kSecondUs, kCostNever, on_denial).outcome))
          << to_string(algorithm);
    }
    Log log;
    EXPECT_TRUE(is_never(step(limit(kSlidingLog, kSlidingLogMax, kSecondUs), log, 0, kCostNever, on_denial)));
  }
}

TEST(Step, AFractionOfAnotherDenominatorIsClampedNotWrapped) {
  const LimitParams thirds = limit(kGcra, 30'000, kSecondUs);
  const Stepped stepped = step(thirds, {.at = 1'000, .first = 999'999'999, .second = 0}, 1'000, 1);
  EXPECT_EQ(stepped.state, (State{1'034, 0, 0}));  // ⅔ µs and 33⅓ µs
  EXPECT_EQ(stepped.outcome.remaining, 29'998);
}

TEST(Step, WhatThereIsNothingToRememberOfIsAllZero) {
  for (const Algorithm algorithm : {kGcra, kTokenBucket, kLeakyBucket, kFixedWindow, kSlidingWindow}) {
    SCOPED_TRACE(to_string(algorithm));
    const LimitParams ten = limit(algorithm, 10, kSecondUs);
    EXPECT_EQ(step(ten, {}, 5 * kSecondUs, 0).state, State{});
    const State used = step(ten, {}, 5 * kSecondUs, 10).state;
    EXPECT_NE(used, State{});
    EXPECT_EQ(step(ten, used, 9 * kSecondUs, 0).state, State{});
  }
}

TEST(IsFresh, ABucketIsFreshWhenTheLastFractionHasPassed) {
  const LimitParams thirds = limit(kGcra, 30'000, kSecondUs);
  const State used = step(thirds, {}, 1'000, 1).state;  // full again at 1033⅓
  EXPECT_FALSE(is_fresh(thirds, used, 1'033));
  EXPECT_TRUE(is_fresh(thirds, used, 1'034));
}

TEST(IsFresh, ADeniedCostIsRememberedForAsLongAsAFullBucketTakesToRunEmpty) {
  const LimitParams ten = limit(kLeakyBucket, 10, kSecondUs);
  const State empty = step(ten, {}, 5 * kSecondUs, 11).state;
  EXPECT_FALSE(is_fresh(ten, empty, 6 * kSecondUs - 1));
  EXPECT_TRUE(is_fresh(ten, empty, 6 * kSecondUs));
  const State half = step(ten, step(ten, {}, 5 * kSecondUs, 5).state, 5 * kSecondUs, 6).state;
  EXPECT_FALSE(is_fresh(ten, half, 6 * kSecondUs + kSecondUs / 2 - 1)) << "it is empty after half a second";
  EXPECT_TRUE(is_fresh(ten, half, 6 * kSecondUs + kSecondUs / 2));
}

// A bucket of 10 that had room when another limit denied a cost of 3, at 5 s.
TEST(WithDenial, CountsInALeakyBucketThatHadRoomItself) {
  struct Row {
    const char* what;
    State before, after, expected;
  };
  const std::int64_t now_us = 5 * kSecondUs, later_us = 5 * kSecondUs + 300'000;
  const Row rows[] = {
      {"a fresh one is dated", {}, {}, {now_us, 0, 3}},
      {"one in use stays as full", {later_us, 0, 0}, {later_us, 0, 0}, {later_us, 0, 3}},
      {"it adds to what was denied", {later_us, 0, 40}, {later_us, 0, 40}, {later_us, 0, 43}},
      {"and dates it anew", {now_us - 7, 0, 40}, {now_us - 7, 0, 40}, {now_us, 0, 43}},
      {"not to what is forgotten", {now_us - kSecondUs, 0, 40}, {}, {now_us, 0, 3}},
      {"a charge is no admission", {now_us, 0, 40}, {later_us, 0, 0}, {later_us, 0, 43}},
      {"it saturates", {now_us, 0, kDeniedCostMax - 2}, {now_us, 0, 0}, {now_us, 0, kDeniedCostMax}},
  };
  for (const Row& row : rows)
    EXPECT_EQ(with_denial(limit(kLeakyBucket, 10, kSecondUs), row.before, row.after, now_us, 3), row.expected)
        << row.what;
  const State used{later_us, 0, 40};
  EXPECT_EQ(with_denial(limit(kLeakyBucket, 10, kSecondUs), used, used, now_us, 0), used) << "a look";
  for (const Algorithm algorithm : {kGcra, kTokenBucket, kFixedWindow, kSlidingWindow})
    EXPECT_EQ(with_denial(limit(algorithm, 10, kSecondUs), used, used, now_us, 3), used) << "others don't";
}

TEST(IsFresh, ALimitThatDeniesEverythingNeedsNoMemory) {
  for (const Algorithm algorithm : {kGcra, kFixedWindow, kSlidingWindow})
    EXPECT_TRUE(is_fresh(limit(algorithm, 0, kSecondUs), {1'000'000, 5, 5}, 0));
  EXPECT_TRUE(is_fresh(limit(kSlidingLog, 0, kSecondUs), {{5, 5}}, 0));
}

static_assert(sizeof(LogEntry) == 16);

TEST(SlidingLog, HoldsAtMostOneEntryForEachUnitOfTheLimit) {
  const LimitParams most = limit(kSlidingLog, kSlidingLogMax, kSecondUs);
  Log log;
  for (std::int64_t now_us = 0; now_us < 2 * kSlidingLogMax; ++now_us) {
    EXPECT_EQ(step(most, log, now_us, 1, OnDenial::kCharge).allowed, now_us < kSlidingLogMax);
    ASSERT_LE(log.size(), static_cast<std::size_t>(kSlidingLogMax));
  }
}

}  // namespace
}  // namespace sluice

#include "store/testing/counters_conformance.h"

#include <array>
#include <vector>

#include "algorithm/testing/every_algorithm.h"

namespace sluice {

TEST_P(CountersConformance, EveryAlgorithmAdmitsItsLimitAndNoMore) {
  for (const Algorithm algorithm : kEveryAlgorithm) {
    SCOPED_TRACE(to_string(algorithm));
    const ParamsId ten = limit(algorithm, 10, 60 * kSecond);
    const KeyHash user = key(to_string(algorithm));
    for (int left_after = 9; left_after >= 0; --left_after) {
      const ChargeResult result = charge({user, ten, 1});
      EXPECT_TRUE(result.outcome.allowed);
      EXPECT_EQ(result.outcome.remaining, left_after);
    }
    const ChargeResult denied = charge({user, ten, 1});
    EXPECT_FALSE(denied.outcome.allowed);
    EXPECT_GT(denied.outcome.retry_after_us, 0);
    EXPECT_EQ(denied.pressure, Pressure::kThrottled);
  }
}

TEST_P(CountersConformance, WaitingRetryAfterIsEnough) {
  for (const Algorithm algorithm : kEveryAlgorithm) {
    SCOPED_TRACE(to_string(algorithm));
    const ParamsId three = limit(algorithm, 3, 7 * kSecond);
    const KeyHash user = key(to_string(algorithm));
    charge({user, three, 3});
    advance(charge({user, three, 2}).outcome.retry_after_us);
    EXPECT_TRUE(charge({user, three, 2}).outcome.allowed);
  }
}

TEST_P(CountersConformance, CountersAreApart) {
  const ParamsId one = limit(Algorithm::kGcra, 1, kSecond);
  EXPECT_TRUE(charge({key("a"), one, 1}).outcome.allowed);
  EXPECT_TRUE(charge({key("b"), one, 1}).outcome.allowed);
  EXPECT_FALSE(charge({key("a"), one, 1}).outcome.allowed);
}

TEST_P(CountersConformance, AllLimitsAreChargedOrNone) {
  for (const Algorithm algorithm : kEveryAlgorithm) {
    SCOPED_TRACE(to_string(algorithm));
    const ParamsId wide = limit(algorithm, 10, 60 * kSecond), narrow = limit(algorithm, 2, 60 * kSecond);
    const KeyHash tenant = key(std::string("tenant ") + std::string(to_string(algorithm)));
    const KeyHash user = key(std::string("user ") + std::string(to_string(algorithm)));
    const std::array charges{Charge{tenant, wide, 1}, Charge{user, narrow, 1}};
    std::array<ChargeResult, 2> results;
    std::int64_t now_us = 0;
    EXPECT_EQ(counters().apply(charges, results, now_us), Verdict::kAllowed);
    EXPECT_EQ(counters().apply(charges, results, now_us), Verdict::kAllowed);
    EXPECT_EQ(results[0].outcome.remaining, 8);
    EXPECT_EQ(results[1].outcome.remaining, 0);
    for (int i = 0; i < 3; ++i) {
      EXPECT_EQ(counters().apply(charges, results, now_us), Verdict::kDenied);
      EXPECT_TRUE(results[0].outcome.allowed);
      EXPECT_EQ(results[0].outcome.remaining, 8);
      EXPECT_FALSE(results[1].outcome.allowed);
    }
    EXPECT_EQ(left(tenant, wide), 8);
  }
}

TEST_P(CountersConformance, ALimitThatCountsDenialsIsChargedAlthoughAnotherDenies) {
  for (const Algorithm algorithm : kEveryAlgorithm) {
    SCOPED_TRACE(to_string(algorithm));
    const ParamsId wide = limit(algorithm, 10, 60 * kSecond), narrow = limit(algorithm, 2, 60 * kSecond);
    const KeyHash counting = key(std::string("counting ") + std::string(to_string(algorithm)));
    const KeyHash plain = key(std::string("plain ") + std::string(to_string(algorithm)));
    const std::array charges{Charge{counting, wide, 3, OnDenial::kCharge}, Charge{plain, narrow, 3}};
    std::array<ChargeResult, 2> results;
    std::int64_t now_us = 0;
    EXPECT_EQ(counters().apply(charges, results, now_us), Verdict::kDenied);
    EXPECT_EQ(results[0].outcome.remaining, 7);
    EXPECT_EQ(results[1].outcome.remaining, 2);
    EXPECT_EQ(results[1].outcome.retry_after_us, kNever);
    EXPECT_EQ(left(counting, wide), 7);
    EXPECT_EQ(left(plain, narrow), 2);
  }
}

TEST_P(CountersConformance, ADenialThatCountsKeepsTheCounterFull) {
  const ParamsId two = limit(Algorithm::kFixedWindow, 2, 60 * kSecond);
  EXPECT_FALSE(charge({key("user"), two, 5, OnDenial::kCharge}).outcome.allowed);
  EXPECT_FALSE(charge({key("user"), two, 1}).outcome.allowed);
}

// Costs that are known only after the request: a look before it, a charge after it.
TEST_P(CountersConformance, ALookIsDeniedByAWindowThatCountsDenialsAndIsUsedBeyondItsLimit) {
  for (const Algorithm algorithm : kEveryAlgorithm) {
    SCOPED_TRACE(to_string(algorithm));
    const bool is_window = algorithm == Algorithm::kFixedWindow || algorithm == Algorithm::kSlidingWindow;
    const ParamsId ten = limit(algorithm, 10, 60 * kSecond);
    const KeyHash user = key(to_string(algorithm));
    const Charge look{user, ten, 0, OnDenial::kCharge};
    charge({user, ten, 10, OnDenial::kCharge});
    EXPECT_TRUE(charge(look).outcome.allowed) << "exactly used up";
    charge({user, ten, 1, OnDenial::kCharge});
    const ChargeResult seen = charge(look);
    EXPECT_EQ(seen.outcome.allowed, !is_window);
    EXPECT_EQ(seen.outcome.remaining, 0);
    EXPECT_EQ(seen.outcome.retry_after_us > 0, is_window);
    EXPECT_EQ(seen.pressure, Pressure::kThrottled);
    EXPECT_EQ(charge(look).outcome.allowed, !is_window) << "and it has changed nothing";
    EXPECT_TRUE(charge({user, ten, 0}).outcome.allowed) << "where denials are free";
    // Beside another limit: the charge on that one is denied as well.
    const Charge other{key(std::string("other ") + std::string(to_string(algorithm))), ten, 3};
    const std::array both{look, other};
    std::array<ChargeResult, 2> results;
    std::int64_t now_us = 0;
    EXPECT_EQ(counters().apply(both, results, now_us), is_window ? Verdict::kDenied : Verdict::kAllowed);
    EXPECT_EQ(left(other.key, ten), is_window ? 10 : 7);
  }
}

TEST_P(CountersConformance, ALookTellsTheLevelAndChangesNothing) {
  for (const Algorithm algorithm : kEveryAlgorithm) {
    SCOPED_TRACE(to_string(algorithm));
    const ParamsId ten = limit(algorithm, 10, 60 * kSecond);
    const KeyHash user = key(to_string(algorithm));
    EXPECT_EQ(left(user, ten), 10);
    charge({user, ten, 4});
    EXPECT_EQ(left(user, ten), 6);
    EXPECT_EQ(left(user, ten), 6);
  }
}

TEST_P(CountersConformance, ALimitOfZeroAlwaysDenies) {
  for (const Algorithm algorithm : kEveryAlgorithm) {
    const ParamsId never = limit(algorithm, 0, kSecond);
    const ChargeResult result = charge({key("user"), never, 1});
    EXPECT_FALSE(result.outcome.allowed) << to_string(algorithm);
    EXPECT_EQ(result.outcome.retry_after_us, kNever) << to_string(algorithm);
  }
}

// Limit 100, not refilled meanwhile. The warning starts above 80 and lasts down to 70.
TEST_P(CountersConformance, PressureDoesNotFlicker) {
  struct Row {
    std::int64_t seconds, cost;
    Pressure expected;
    const char* why;
  };
  const Row rows[] = {
      {0, 80, Pressure::kNormal, "80 of 100: not above 80 %"},
      {0, 1, Pressure::kWarning, "81: above"},
      {2, 1, Pressure::kWarning, "80: below the start, but it warned before"},
      {11, 1, Pressure::kWarning, "70: still"},
      {2, 1, Pressure::kNormal, "69: over"},
      {0, 6, Pressure::kNormal, "75: not again before it is above 80"},
      {0, 25, Pressure::kThrottled, "100: full"},
      {1, 5, Pressure::kWarning, "99, though the cost is denied: it follows use"},
      {50, 60, Pressure::kNormal, "49, though the cost is denied"},
      {0, 50, Pressure::kWarning, "99 again"},
      {0, 0, Pressure::kWarning, "99: a look"},
  };
  const ParamsId hundred = limit(Algorithm::kGcra, 100, 100 * kSecond);  // one unit is refilled per second
  for (const Row& row : rows) {
    advance(row.seconds * kSecond);
    EXPECT_EQ(charge({key("user"), hundred, row.cost}).pressure, row.expected) << row.why;
  }
}

TEST_P(CountersConformance, ALeakyBucketTellsWhatItDeniedSinceItLastAdmitted) {
  const ParamsId two = limit(Algorithm::kLeakyBucket, 2, 2 * kSecond);
  EXPECT_EQ(charge({key("user"), two, 2}).denied_cost, 0);
  EXPECT_EQ(charge({key("user"), two, 1}).denied_cost, 1);
  EXPECT_EQ(charge({key("user"), two, 2}).denied_cost, 3);
  EXPECT_EQ(charge({key("user"), two, 0}).denied_cost, 3) << "a look is no admission";
  EXPECT_EQ(charge({key("user"), two, 1}).denied_cost, 4) << "and did not reset it";
  advance(2 * kSecond);
  EXPECT_EQ(charge({key("user"), two, 1}).denied_cost, 0);
}

TEST_P(CountersConformance, WhatALeakyBucketDeniedAddsUpThoughItIsEmpty) {
  const ParamsId hundred = limit(Algorithm::kLeakyBucket, 100, 600 * kSecond);
  for (const std::int64_t total : {101, 202, 303}) {
    EXPECT_EQ(charge({key("user"), hundred, 101}).denied_cost, total);
    EXPECT_EQ(charge({key("user"), hundred, 0}).denied_cost, total);
    EXPECT_EQ(left(key("user"), hundred), 100);
    advance(599 * kSecond);
  }
  advance(kSecond);
  EXPECT_EQ(charge({key("user"), hundred, 0}).denied_cost, 0) << "a full one would have run empty by now";
  EXPECT_EQ(charge({key("user"), hundred, 102}).denied_cost, 102);
  EXPECT_EQ(charge({key("user"), hundred, 100}).denied_cost, 0);
  EXPECT_EQ(charge({key("user"), hundred, 1}).denied_cost, 1) << "since the last admission";
}

// Two rates, which deny in turn.
TEST_P(CountersConformance, EveryLeakyBucketOfACheckCountsWhateverLimitDeniedIt) {
  const ParamsId slow = limit(Algorithm::kLeakyBucket, 10, 1000 * kSecond),
                 fast = limit(Algorithm::kLeakyBucket, 4, 4 * kSecond),
                 zero = limit(Algorithm::kGcra, 0, kSecond);
  const auto check = [&](std::int64_t cost, std::int64_t last_limit_cost, OnDenial on_denial) {
    const std::array charges{Charge{key("slow"), slow, cost, on_denial}, Charge{key("fast"), fast, cost},
                             Charge{key("zero"), zero, last_limit_cost}};
    std::array<ChargeResult, 3> results;
    std::int64_t now_us = 0;
    const auto asked = std::span(charges).first(last_limit_cost > 0 ? 3 : 2);
    counters().apply(asked, std::span(results).first(asked.size()), now_us);
    EXPECT_EQ(results[0].denied_cost, results[1].denied_cost);
    EXPECT_EQ(results[2].denied_cost, 0);
    return results[0].denied_cost;
  };
  EXPECT_EQ(check(5, 0, OnDenial::kFree), 5) << "the fast one denies, both are new";
  EXPECT_EQ(check(4, 0, OnDenial::kFree), 0);
  EXPECT_EQ(check(3, 0, OnDenial::kFree), 3) << "the fast one denies again";
  advance(4 * kSecond);
  EXPECT_EQ(check(2, 1, OnDenial::kFree), 5) << "a third does, which counts nothing";
  EXPECT_EQ(check(0, 0, OnDenial::kFree), 5) << "a look";
  EXPECT_EQ(check(0, 1, OnDenial::kFree), 5) << "also one beside a denied cost";
  EXPECT_EQ(check(5, 0, OnDenial::kCharge), 10) << "charged all the same, and no admission for that";
  EXPECT_EQ(left(key("slow"), slow), 1);
  EXPECT_EQ(check(2, 0, OnDenial::kFree), 12) << "the slow one denies";
  EXPECT_EQ(left(key("fast"), fast), 4) << "no denial has filled the other";
  EXPECT_EQ(check(1, 0, OnDenial::kFree), 0);
}

TEST_P(CountersConformance, ARaisedLimitHelpsAtOnceAndALoweredOneHoldsAtOnce) {
  for (const Algorithm algorithm : kEveryAlgorithm) {
    SCOPED_TRACE(to_string(algorithm));
    const ParamsId ten = limit(algorithm, 10, 60 * kSecond), hundred = limit(algorithm, 100, 60 * kSecond);
    const KeyHash user = key(to_string(algorithm));
    charge({user, ten, 10});
    EXPECT_FALSE(charge({user, ten, 1}).outcome.allowed);
    EXPECT_EQ(charge({user, hundred, 5}).outcome.remaining, 85);
    EXPECT_EQ(charge({user, ten, 1}).outcome.remaining, 0);
  }
}

TEST_P(CountersConformance, ConsumptionSurvivesAChangeOfAlgorithm) {
  for (const Algorithm from : kEveryAlgorithm)
    for (const Algorithm to : kEveryAlgorithm) {
      const std::string change = std::string(to_string(from)) + " to " + std::string(to_string(to));
      charge({key(change), limit(from, 10, 3600 * kSecond), 4});
      EXPECT_EQ(left(key(change), limit(to, 20, 3600 * kSecond)), 16) << change;
    }
}

TEST_P(CountersConformance, ResetForgetsAndCountsWhatExisted) {
  const ParamsId one = limit(Algorithm::kGcra, 1, 60 * kSecond),
                 log = limit(Algorithm::kSlidingLog, 1, 60 * kSecond);
  charge({key("a"), one, 1});
  charge({key("b"), log, 1});
  EXPECT_EQ(counters().reset(std::array{key("a"), key("b"), key("c")}), 2);
  EXPECT_TRUE(charge({key("a"), one, 1}).outcome.allowed);
  EXPECT_TRUE(charge({key("b"), log, 1}).outcome.allowed);
}

TEST_P(CountersConformance, NoChargesAreAllowed) {
  std::int64_t now_us = 0;
  EXPECT_EQ(counters().apply({}, {}, now_us), Verdict::kAllowed);
  EXPECT_GT(now_us, 0);
}

TEST_P(CountersConformance, TheTimeOfTheDecisionIsTheStores) {
  const ParamsId one = limit(Algorithm::kGcra, 1, kSecond);
  const Charge charges[] = {{key("a"), one, 1}};
  ChargeResult results[1];
  std::int64_t before_us = 0, after_us = 0;
  counters().apply(charges, results, before_us);
  advance(5 * kSecond);
  counters().apply(charges, results, after_us);
  EXPECT_GE(after_us - before_us, 5 * kSecond);
}

TEST_P(CountersConformance, AsManyLimitsAsACheckMayHave) {
  const ParamsId two = limit(Algorithm::kGcra, 2, 60 * kSecond);
  std::vector<Charge> charges;
  for (std::size_t i = 0; i < kLimitsPerCheckMax; ++i) charges.push_back({key(std::to_string(i)), two, 1});
  std::vector<ChargeResult> results(charges.size());
  std::int64_t now_us = 0;
  EXPECT_EQ(counters().apply(charges, results, now_us), Verdict::kAllowed);
  for (const ChargeResult& result : results) EXPECT_EQ(result.outcome.remaining, 1);
  charges.back().cost = 2;
  EXPECT_EQ(counters().apply(charges, results, now_us), Verdict::kDenied);
  for (std::size_t i = 0; i < kLimitsPerCheckMax; ++i) EXPECT_EQ(left(charges[i].key, two), 1);
}

}  // namespace sluice

#include "control/rollout/rollout_evaluator.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/time_units.h"

namespace sluice::control {
namespace {

using Step = RolloutEvaluator::Step;

StagedRollout two_stages() {
  StagedRollout rollout;
  rollout.stages = {{10, 60 * kSecondUs}, {100, 60 * kSecondUs}};
  rollout.min_samples = 1000;
  return rollout;
}

// allowed and denied of the version in force, then of the candidate
RolloutTallies tallies(std::uint64_t live_allowed, std::uint64_t live_denied, std::uint64_t allowed,
                       std::uint64_t denied) {
  return {{live_allowed, live_denied}, {allowed, denied}, 0, 0, 0};
}

TEST(RolloutEvaluator, DeniesTooMuchOrNot) {
  struct Case {
    const char* what;
    RolloutTallies seen;
    Step expected;
  };
  const Case cases[] = {
      {"nobody has asked", tallies(0, 0, 0, 0), Step::kWait},
      {"no denials at all", tallies(5000, 0, 5000, 0), Step::kWait},
      {"equal rates", tallies(900, 100, 9000, 1000), Step::kWait},
      {"the candidate denies less", tallies(900, 100, 990, 10), Step::kWait},
      {"few samples of the candidate, all denied", tallies(100000, 0, 0, 999), Step::kWait},
      {"few samples of the old version", tallies(999, 0, 0, 100000), Step::kWait},
      {"just enough samples", tallies(1000, 0, 0, 1000), Step::kRollBack},
      // 100 of 1000 against d of 1000: with d = 128, z = 1.97; with d = 129, z = 2.04
      {"just below two sigmas", tallies(900, 100, 872, 128), Step::kWait},
      {"just above two sigmas", tallies(900, 100, 871, 129), Step::kRollBack},
      {"everything is denied, by both", tallies(0, 5000, 0, 5000), Step::kWait},
      {"a few denials where there were none", tallies(1000, 0, 997, 3), Step::kWait},
      {"some denials where there were none", tallies(1000, 0, 996, 4), Step::kRollBack},
      {"a tiny difference in huge numbers counts",
       tallies(900'000'000'000, 100'000'000'000, 899'999'000'000, 100'001'000'000), Step::kRollBack},
      {"a difference too tiny even for them",
       tallies(900'000'000'000, 100'000'000'000, 899'999'999'999, 100'000'000'001), Step::kWait},
  };
  for (const Case& each : cases) {
    RolloutEvaluator evaluator;
    EXPECT_EQ(evaluator.look(two_stages(), 1, {}, 0), Step::kWait);
    EXPECT_EQ(evaluator.look(two_stages(), 1, each.seen, 1), each.expected) << each.what;
    EXPECT_TRUE(std::isfinite(evaluator.excess().value_or(0))) << each.what;
  }
}

TEST(RolloutEvaluator, SigmasAndSamplesAreTheAuthorsChoice) {
  StagedRollout rollout = two_stages();
  rollout.sigmas = 3;
  RolloutEvaluator careful;
  careful.look(rollout, 1, {}, 0);
  EXPECT_EQ(careful.look(rollout, 1, tallies(900, 100, 871, 129), 1), Step::kWait);
  EXPECT_NEAR(careful.excess().value(), 2.04, 0.01);
  EXPECT_EQ(careful.look(rollout, 1, tallies(900, 100, 850, 150), 1), Step::kRollBack);
  rollout.min_samples = 3;
  RolloutEvaluator quick;
  quick.look(rollout, 1, {}, 0);
  EXPECT_EQ(quick.look(rollout, 1, tallies(2, 0, 0, 300), 1), Step::kWait);
  EXPECT_EQ(quick.look(rollout, 1, tallies(300, 0, 0, 3), 1), Step::kRollBack);
}

TEST(RolloutEvaluator, AStageEndsWithItsHoldTime) {
  StagedRollout rollout = two_stages();
  rollout.since_us = 1000 * kSecondUs;
  RolloutEvaluator evaluator;
  EXPECT_EQ(evaluator.look(rollout, 1, {}, 1060 * kSecondUs - 1), Step::kWait);
  EXPECT_EQ(evaluator.look(rollout, 1, {}, 1060 * kSecondUs), Step::kAdvance);
  EXPECT_EQ(evaluator.look(rollout, 1, tallies(2000, 0, 0, 2000), 1060 * kSecondUs), Step::kRollBack)
      << "that comes first";
}

TEST(RolloutEvaluator, ALastStageBelowEverybodyWaitsForAWord) {
  StagedRollout rollout = two_stages();
  rollout.stages.pop_back();
  RolloutEvaluator evaluator;
  EXPECT_EQ(evaluator.look(rollout, 1, {}, INT64_MAX), Step::kWait);
  rollout.stages.front().percent = 100;
  EXPECT_EQ(evaluator.look(rollout, 1, {}, INT64_MAX), Step::kAdvance);
}

TEST(RolloutEvaluator, EveryStageIsMeasuredByItself) {
  StagedRollout rollout = two_stages();
  rollout.stages = {{1, 60 * kSecondUs}, {10, 60 * kSecondUs}, {100, 60 * kSecondUs}};
  RolloutEvaluator evaluator;
  evaluator.look(rollout, 5, tallies(7'000'000, 0, 0, 0), 0);
  EXPECT_EQ(evaluator.look(rollout, 5, tallies(7'001'000, 0, 500, 0), 1), Step::kWait);
  EXPECT_EQ(evaluator.tallies(), tallies(1000, 0, 500, 0)) << "what was counted before is not of this stage";
  rollout = rollout.advanced(2);
  EXPECT_EQ(evaluator.look(rollout, 6, tallies(7'001'000, 0, 500, 0), 2), Step::kWait);
  EXPECT_EQ(evaluator.tallies(), RolloutTallies());
}

TEST(RolloutEvaluator, WhereNobodyIsLeftTheStageBeforeIsTheMeasure) {
  StagedRollout rollout = two_stages();
  RolloutEvaluator evaluator;
  evaluator.look(rollout, 1, {}, 0);
  evaluator.look(rollout, 1, tallies(1000, 10, 500, 5), 1);
  rollout = rollout.advanced(2);
  evaluator.look(rollout, 2, tallies(1000, 10, 500, 5), 2);
  EXPECT_EQ(evaluator.look(rollout, 2, tallies(1000, 10, 1490, 15), 3), Step::kWait);
  EXPECT_EQ(evaluator.reference(), (Tally{1000, 10}));
  EXPECT_EQ(evaluator.look(rollout, 2, tallies(1000, 10, 1490, 115), 4), Step::kRollBack);

  // The next rollout of the same policy is not compared with the last one.
  const StagedRollout again = two_stages();
  evaluator.look(again, 4, tallies(1000, 10, 1490, 115), 5);
  EXPECT_EQ(evaluator.look(again, 4, tallies(1000, 10, 1490, 5115), 6), Step::kWait);
  EXPECT_FALSE(evaluator.excess());
}

// However far a rollout came, its counts do not affect the next one of the same policy.
TEST(RolloutEvaluator, ARolloutThatBeginsAgainKnowsNothingOfTheLastOne) {
  for (const std::size_t stage_then : {0u, 1u, 2u}) {
    StagedRollout rollout = two_stages();
    rollout.stages = {{1, 60 * kSecondUs}, {10, 60 * kSecondUs}, {100, 60 * kSecondUs}};
    const StagedRollout again = rollout;
    RolloutEvaluator evaluator;
    evaluator.look(rollout, 1, {}, 0);
    RolloutTallies seen = tallies(5000, 5, 2000, 2);
    evaluator.look(rollout, 1, seen, 1);
    for (std::size_t stage = 1; stage <= stage_then; ++stage) {
      rollout = rollout.advanced(2);
      evaluator.look(rollout, static_cast<std::int64_t>(1 + stage), seen, 2);
      seen = tallies(5000 * (1 + stage), 5, 2000, 2);
      evaluator.look(rollout, static_cast<std::int64_t>(1 + stage), seen, 2);
    }
    // Aborted and started again: the candidate denies everything, but the live version has made no decisions
    // since.
    EXPECT_EQ(evaluator.look(again, 20, seen, 3), Step::kWait) << stage_then;
    EXPECT_EQ(evaluator.tallies(), RolloutTallies()) << stage_then;
    seen.candidate.denied += 5000;
    EXPECT_EQ(evaluator.look(again, 20, seen, 4), Step::kWait) << stage_then;
    EXPECT_EQ(evaluator.reference(), Tally()) << stage_then;
    EXPECT_FALSE(evaluator.excess()) << stage_then;
    // It then decides by what is counted now.
    seen.live.allowed += 1000;
    EXPECT_EQ(evaluator.look(again, 20, seen, 5), Step::kRollBack) << stage_then;
    EXPECT_EQ(evaluator.reference(), (Tally{1000, 0})) << stage_then;
  }
}

TEST(RolloutEvaluator, WhatHasEndedStaysAsItIs) {
  StagedRollout rollout = two_stages();
  rollout.state = RolloutState::kAborted;
  RolloutEvaluator evaluator;
  evaluator.look(rollout, 1, {}, 0);
  EXPECT_EQ(evaluator.look(rollout, 1, tallies(2000, 0, 0, 2000), INT64_MAX), Step::kWait);
}

}  // namespace
}  // namespace sluice::control

#include "redis/connection/breaker.h"

#include <gtest/gtest.h>

#include <vector>

#include "base/time_units.h"

namespace sluice::redis {
namespace {

using State = Breaker::State;

class BreakerTest : public testing::Test {
 protected:
  Breaker breaker_{{},
                   [this](std::uint64_t below) { return chosen_ < below ? chosen_ : below - 1; },
                   [this](State, State to) { changes_.push_back(to); }};
  std::uint64_t chosen_ = 0;  // by the random generator
  std::vector<State> changes_;

  void open_at(std::int64_t now_us) {
    for (int i = 0; i < 5; ++i) breaker_.record(false, 1, now_us);
    ASSERT_EQ(breaker_.state(), State::kOpen);
  }
};

TEST_F(BreakerTest, OpensAfterFiveFailuresInARow) {
  for (int i = 0; i < 4; ++i) breaker_.record(false, 1, kSecondUs);
  EXPECT_TRUE(breaker_.closed());
  breaker_.record(false, 1, kSecondUs);
  EXPECT_EQ(breaker_.state(), State::kOpen);
}

TEST_F(BreakerTest, AnAnswerInBetweenBreaksTheRow) {
  for (int i = 0; i < 4; ++i) breaker_.record(false, 1, kSecondUs);
  breaker_.record(true, 1000, kSecondUs);
  for (int i = 0; i < 4; ++i) breaker_.record(false, 1, kSecondUs);
  EXPECT_TRUE(breaker_.closed());
}

TEST_F(BreakerTest, OpensAboveOnePercentOfThirtySeconds) {
  breaker_.record(true, 990, 1 * kSecondUs);
  breaker_.record(false, 10, 20 * kSecondUs);
  EXPECT_TRUE(breaker_.closed()) << "exactly one percent";
  breaker_.record(true, 1, 20 * kSecondUs);
  breaker_.record(false, 1, 20 * kSecondUs);
  EXPECT_FALSE(breaker_.closed());
}

TEST_F(BreakerTest, ForgetsAfterThirtySeconds) {
  breaker_.record(true, 10'000, 1 * kSecondUs);
  breaker_.record(true, 100, 40 * kSecondUs);
  breaker_.record(false, 2, 40 * kSecondUs);
  EXPECT_FALSE(breaker_.closed()) << "2 of 102; with the old ones it would be 2 of 10102";
}

TEST_F(BreakerTest, JudgesNothingByFewSamples) {
  breaker_.record(true, 18, kSecondUs);
  breaker_.record(false, 1, kSecondUs);
  EXPECT_TRUE(breaker_.closed());
  breaker_.record(true, 1, kSecondUs);
  breaker_.record(false, 1, kSecondUs);
  EXPECT_FALSE(breaker_.closed());
}

TEST_F(BreakerTest, LetsOneProbeThroughAfterHalfASecondToASecond) {
  for (const std::uint64_t chosen : {0u, 500'000u}) {
    chosen_ = chosen;
    open_at(10 * kSecondUs);
    const std::int64_t due_us = 10 * kSecondUs + 500'000 + static_cast<std::int64_t>(chosen);
    EXPECT_FALSE(breaker_.take_probe(due_us - 1));
    EXPECT_TRUE(breaker_.take_probe(due_us));
    EXPECT_FALSE(breaker_.take_probe(due_us + kSecondUs)) << "one at a time";
    breaker_.record(true, 1, due_us);
    EXPECT_TRUE(breaker_.closed());
  }
  EXPECT_EQ(changes_, (std::vector{State::kOpen, State::kHalfOpen, State::kClosed, State::kOpen,
                                   State::kHalfOpen, State::kClosed}));
}

TEST_F(BreakerTest, AFailedProbeMeansAnotherWait) {
  open_at(0);
  ASSERT_TRUE(breaker_.take_probe(kSecondUs));
  breaker_.record(false, 1, kSecondUs);
  EXPECT_EQ(breaker_.state(), State::kOpen);
  EXPECT_FALSE(breaker_.take_probe(kSecondUs + 499'999));
  EXPECT_TRUE(breaker_.take_probe(kSecondUs + 500'000));
}

TEST_F(BreakerTest, HopeMakesTheProbeDueAtOnce) {
  open_at(0);
  EXPECT_FALSE(breaker_.take_probe(1000));
  breaker_.hurry(1000);
  EXPECT_TRUE(breaker_.take_probe(1000));
}

TEST_F(BreakerTest, OpensAtOnceWhenToldTo) {
  breaker_.record(true, 1000, 0);
  breaker_.trip(0);
  EXPECT_EQ(breaker_.state(), State::kOpen);
  breaker_.trip(400'000);
  EXPECT_TRUE(breaker_.take_probe(500'000)) << "to hear it again postpones nothing";
  breaker_.trip(500'000);
  EXPECT_EQ(breaker_.state(), State::kOpen) << "the probe will not be answered either";
  EXPECT_FALSE(breaker_.take_probe(999'999));
}

TEST_F(BreakerTest, WhatWasSentBeforeItOpenedIsNoNews) {
  open_at(0);
  breaker_.record(true, 100, 1000);
  EXPECT_EQ(breaker_.state(), State::kOpen);
}

}  // namespace
}  // namespace sluice::redis

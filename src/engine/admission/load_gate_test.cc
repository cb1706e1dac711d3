#include "engine/admission/load_gate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "base/limits.h"
#include "base/time_units.h"

namespace sluice {
namespace {

class LoadGateTest : public ::testing::Test {
 protected:
  // How many of these single checks a gate admits.
  static int admitted(LoadGate& gate, int checks) {
    int in = 0;
    for (int i = 0; i < checks; ++i) in += gate.admit(1).has_value();
    return in;
  }
  ManualClock clock{1'800'000'000 * kSecondUs};
  BigSwitch big_switch;
};

TEST_F(LoadGateTest, WithoutABoundEverythingGoesIn) {
  LoadGate gate{nullptr};
  EXPECT_EQ(admitted(gate, 100'000), 100'000);
}

TEST_F(LoadGateTest, TakesASecondsChecksAndThenWhatTimeGives) {
  NodeCapacity capacity{10, clock, big_switch};
  LoadGate gate{&capacity};
  EXPECT_EQ(admitted(gate, 100), 10);
  const auto refused = gate.admit(1);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kUnavailable);
  clock.advance(kSecondUs / 10 - 1);
  EXPECT_EQ(admitted(gate, 100), 0);
  clock.advance(1);
  EXPECT_EQ(admitted(gate, 100), 1);
  clock.advance(10 * kSecondUs);
  EXPECT_EQ(admitted(gate, 100), 10) << "idle time does not save up";
  EXPECT_THAT(capacity.metrics(), ::testing::HasSubstr("rate_limiter_overload_refused_total 380\n"));
}

TEST_F(LoadGateTest, LoopsShareTheNodesNumber) {
  NodeCapacity capacity{100'000, clock, big_switch};
  LoadGate one{&capacity}, other{&capacity};
  int in = 0;
  for (int i = 0; i < 100'000; ++i) in += one.admit(1).has_value() + other.admit(1).has_value();
  EXPECT_EQ(in, 100'000);
  clock.advance(kSecondUs / 2);
  EXPECT_EQ(admitted(one, 100'000), 50'000) << "one loop alone gets all there is";
}

TEST_F(LoadGateTest, WhatALoopHasDrawnIsBounded) {
  NodeCapacity capacity{100'000, clock, big_switch};
  LoadGate idle{&capacity}, busy{&capacity};
  EXPECT_EQ(admitted(idle, 1), 1);
  EXPECT_EQ(admitted(busy, 100'000), 100'000 - 500);
  clock.advance(kSecondUs);
  EXPECT_EQ(admitted(busy, 200'000), 100'000);
  EXPECT_EQ(admitted(idle, 1'000), 499) << "that is all that comes on top";
}

TEST_F(LoadGateTest, ABatchCountsAsItsChecks) {
  NodeCapacity capacity{10, clock, big_switch};
  LoadGate gate{&capacity};
  EXPECT_TRUE(gate.admit(8));
  EXPECT_FALSE(gate.admit(3));
  EXPECT_TRUE(gate.admit(2)) << "a smaller one fits";
  EXPECT_TRUE(gate.admit(0));
  clock.advance(kSecondUs);
}

TEST_F(LoadGateTest, ABatchOfMoreThanASecondHasIsPaidForAfterwards) {
  NodeCapacity capacity{10, clock, big_switch};
  LoadGate gate{&capacity}, other{&capacity};
  EXPECT_TRUE(gate.admit(1));
  EXPECT_FALSE(gate.admit(1000)) << "not a whole second's checks are there";
  clock.advance(kSecondUs / 10);
  EXPECT_TRUE(gate.admit(1000));
  clock.advance(99 * kSecondUs);
  EXPECT_EQ(admitted(gate, 10) + admitted(other, 10), 0);
  clock.advance(kSecondUs / 10);
  EXPECT_EQ(admitted(gate, 10) + admitted(other, 10), 1) << "1,001 in 99.1 s and one second's burst";
  clock.advance(10 * kSecondUs);
  EXPECT_EQ(admitted(gate, 100), 10);
}

TEST_F(LoadGateTest, AnOpenSwitchLiftsIt) {
  NodeCapacity capacity{10, clock, big_switch};
  LoadGate gate{&capacity};
  admitted(gate, 11);
  big_switch.say(BigSwitch::Hand::kOperators,
                 {.open = true,
                  .at_us = clock.now_us(),
                  .until_us = clock.now_us() + kSecondUs,
                  .actor = "",
                  .reason = ""},
                 clock.now_us());
  EXPECT_EQ(admitted(gate, 1000), 1000);
}

TEST_F(LoadGateTest, ManyLoopsAtOnceTakeNoMore) {
  NodeCapacity capacity{50'000, clock, big_switch};  // the clock stands still
  std::atomic<int> in = 0;
  std::vector<std::thread> loops;
  for (int i = 0; i < 4; ++i)
    loops.emplace_back([&] {
      LoadGate gate{&capacity};
      in += admitted(gate, 20'000);
    });
  for (std::thread& loop : loops) loop.join();
  EXPECT_LE(in, 50'000);
  EXPECT_GE(in, 50'000 - 4 * 250) << "at most a share is left in each loop";
}

TEST_F(LoadGateTest, TheLargestNumberIsExact) {
  NodeCapacity capacity{kRateMax, clock, big_switch};
  LoadGate gate{&capacity};
  EXPECT_EQ(admitted(gate, 1000), 1000);
}

}  // namespace
}  // namespace sluice

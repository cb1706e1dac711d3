#include "redis/inspect/clock_jury.h"

#include <gtest/gtest.h>

#include <initializer_list>
#include <string>
#include <vector>

namespace sluice::redis {
namespace {

constexpr std::int64_t kMs = 1000, kUnknown = INT64_MIN;

// One letter for each server: x is left out. `before`: the same; empty: none was left out.
std::string judged(std::initializer_list<std::int64_t> ahead_ms, const std::string& before = "",
                   std::int64_t error_us = 1000) {
  std::vector<std::optional<ClockDelta::Estimate>> estimates;
  for (const std::int64_t each : ahead_ms)
    estimates.push_back(each == kUnknown ? std::nullopt
                                         : std::optional(ClockDelta::Estimate{each * kMs, error_us}));
  bool left_out[8] = {};
  for (std::size_t i = 0; i < before.size(); ++i) left_out[i] = before[i] == 'x';
  ClockJury::judge(estimates, {left_out, estimates.size()});
  std::string text;
  for (std::size_t i = 0; i < estimates.size(); ++i) text += left_out[i] ? 'x' : '.';
  return text;
}

TEST(ClockJury, LeavesOutWhoIsApartFromMost) {
  EXPECT_EQ(judged({0, 5, -3}), "...");
  EXPECT_EQ(judged({0, 1500, -3}), ".x.");
  EXPECT_EQ(judged({-4000, 0, 3}), "x..");
  EXPECT_EQ(judged({0, 900, 0}), "...");
  EXPECT_EQ(judged({0, 1500}), ".x") << "we are the third voice";
}

TEST(ClockJury, OurOwnWrongClockTakesNobodyOut) {
  EXPECT_EQ(judged({7000, 7001, 6999}), "...");
  EXPECT_EQ(judged({-3600'000, -3600'001}), "..");
  EXPECT_EQ(judged({7000, 7001, 6999, 3000}), "...x") << "and who is wrong beside us is still found";
}

TEST(ClockJury, DoesNotJudgeWithoutAMajority) {
  EXPECT_EQ(judged({9000}), ".") << "two voices";
  EXPECT_EQ(judged({9000}, "x"), ".");
  EXPECT_EQ(judged({5000, -5000}), "..") << "three voices, three times";
  EXPECT_EQ(judged({kUnknown, 9000}), "..");
  EXPECT_EQ(judged({}), "");
}

TEST(ClockJury, WhoIsOutComesBackOnlyWhenItIsWellWithin) {
  EXPECT_EQ(judged({0, 800, 0}, ".x."), ".x.");
  EXPECT_EQ(judged({0, 400, 0}, ".x."), "...");
  EXPECT_EQ(judged({0, kUnknown, 0}, ".x."), ".x.") << "nothing new is known";
}

TEST(ClockJury, ASlowNetworkIsNoWrongClock) { EXPECT_EQ(judged({0, 1500, 0}, "", 600 * kMs), "..."); }

}  // namespace
}  // namespace sluice::redis

#include "engine/given_limits.h"

#include "engine/limiter_fixture.h"

namespace sluice {
namespace {

using testing::kSecondUs;
using testing::make_limit;
using testing::make_policy;

class GivenLimitsTest : public testing::LimiterFixture {
 protected:
  const GivenLimit* given(Rate rate, std::int64_t burst) {
    auto limit = limits.find(rate, burst);
    EXPECT_TRUE(limit) << limit.error().message;
    return limit.value_or(nullptr);
  }

  GivenLimits limits{board, params, make_policy("given", {make_limit({.name = "rate"})})};
};

TEST_F(GivenLimitsTest, TheNumbersOfTheRequestCount) {
  const GivenLimit* const two = given({2, kSecondUs}, 2);
  EXPECT_EQ(two, given({2, kSecondUs}, 2)) << "the same numbers are one limit";
  EXPECT_EQ(check({.key = "a", .given = two}).remaining(), 1);
  EXPECT_EQ(check({.key = "a", .given = two}).remaining(), 0);
  const Decision denied = check({.key = "a", .given = two});
  EXPECT_FALSE(denied.allowed);
  EXPECT_EQ(denied.limit(), 2);
  EXPECT_EQ(denied.retry_after_ms(), 500);
  EXPECT_EQ(denied.policy->source.id, "given");
  EXPECT_TRUE(check({.key = "b", .given = two}).allowed) << "each key has its own";

  const DecisionTotals::Sum sum = totals.sum();
  EXPECT_EQ(sum.by_policy.at("given").fields[DecisionCounters::kAllowed], 3u);
  EXPECT_EQ(sum.by_policy.at("given").fields[DecisionCounters::kDenied], 1u);
}

TEST_F(GivenLimitsTest, OtherNumbersKeepWhatWasUsed) {
  check({.key = "a", .cost = 6, .given = given({10, 3600 * kSecondUs}, 10)});
  EXPECT_EQ(check({.key = "a", .cost = 0, .given = given({20, 3600 * kSecondUs}, 20)}).remaining(), 14);
}

TEST_F(GivenLimitsTest, PoliciesAndAgreementsPlayNoPart) {
  Policy cap = make_policy("cap", {make_limit({.per = {}, .rate = {0, kSecondUs}})});
  cap.always = true;
  publish({cap});
  EXPECT_TRUE(check({.key = "a", .given = given({1, kSecondUs}, 1)}).allowed);
  EXPECT_FALSE(check({.key = "a"}).allowed);
}

TEST_F(GivenLimitsTest, ImpossibleNumbersAreErrors) {
  EXPECT_EQ(limits.find({-1, kSecondUs}, 1).error().field, "rate");
  EXPECT_EQ(limits.find({1, kSecondUs}, -1).error().field, "burst");
  EXPECT_FALSE(limits.find({1, INT64_MAX}, 1));
}

TEST_F(GivenLimitsTest, ThereAreOnlySoMany) {
  for (std::size_t i = 1; i <= kGivenLimitsMax; ++i)
    ASSERT_TRUE(limits.find({static_cast<std::int64_t>(i), kSecondUs}, 1)) << i;
  EXPECT_EQ(limits.find({1, 2 * kSecondUs}, 1).error().code, ErrorCode::kUnavailable);
  EXPECT_TRUE(limits.find({1, kSecondUs}, 1)) << "those that are known go on";
}

}  // namespace
}  // namespace sluice

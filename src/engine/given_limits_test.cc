#include "engine/given_limits.h"

#include "engine/limiter_fixture.h"

namespace sluice {
namespace {

using testing::kSecondUs;
using testing::make_limit;
using testing::make_policy;

class GivenLimitsTest : public testing::LimiterFixture {
 protected:
  GivenLimitsTest() {
    auto compiled = compile_policy(make_policy("own", {make_limit({.name = "rate"})}), nullptr, params, {});
    (*compiled)->number = board.current()->numbers()->take(**compiled);
    board.current()->numbers()->note(*compiled);
    own = std::move(*compiled);
  }
  Decision ask(std::string_view key, std::int64_t cost, Rate rate, std::int64_t burst) {
    const auto numbers = limits.find(Algorithm::kGcra, rate, burst);
    EXPECT_TRUE(numbers) << numbers.error().message;
    return check(
        {.key = key, .cost = cost, .own_policy = own.get(), .numbers = numbers.value_or(GivenNumbers{})});
  }

  GivenLimits limits{params, 100};
  std::shared_ptr<const CompiledPolicy> own;
};

TEST_F(GivenLimitsTest, TheNumbersOfTheRequestCount) {
  EXPECT_EQ(limits.find(Algorithm::kGcra, {2, kSecondUs}, 2)->params,
            limits.find(Algorithm::kGcra, {2, kSecondUs}, 2)->params);
  EXPECT_EQ(ask("a", 1, {2, kSecondUs}, 2).remaining(), 1);
  EXPECT_EQ(ask("a", 1, {2, kSecondUs}, 2).remaining(), 0);
  const Decision denied = ask("a", 1, {2, kSecondUs}, 2);
  EXPECT_FALSE(denied.allowed);
  EXPECT_EQ(denied.limit(), 2);
  EXPECT_EQ(denied.retry_after_ms(), 500);
  EXPECT_EQ(denied.policy->source.id, "own");
  EXPECT_TRUE(ask("b", 1, {2, kSecondUs}, 2).allowed) << "each key has its own";

  const DecisionTotals::Sum sum = totals.sum();
  EXPECT_EQ(sum.by_policy.at("own").fields[DecisionCounters::kAllowed], 3u);
  EXPECT_EQ(sum.by_policy.at("own").fields[DecisionCounters::kDenied], 1u);
}

TEST_F(GivenLimitsTest, OtherNumbersKeepWhatWasUsed) {
  ask("a", 6, {10, 3600 * kSecondUs}, 10);
  EXPECT_EQ(ask("a", 0, {20, 3600 * kSecondUs}, 20).remaining(), 14);
}

TEST_F(GivenLimitsTest, PoliciesPlayNoPart) {
  Policy cap = make_policy("cap", {make_limit({.per = {}, .rate = {0, kSecondUs}})});
  cap.always = true;
  publish({cap});
  EXPECT_TRUE(ask("a", 1, {1, kSecondUs}, 1).allowed);
  EXPECT_FALSE(check({.key = "a"}).allowed);
}

TEST_F(GivenLimitsTest, ImpossibleNumbersAreErrors) {
  EXPECT_EQ(limits.find(Algorithm::kGcra, {-1, kSecondUs}, 1).error().field, "rate");
  EXPECT_EQ(limits.find(Algorithm::kGcra, {1, kSecondUs}, -1).error().field, "burst");
  EXPECT_FALSE(limits.find(Algorithm::kFixedWindow, {1, INT64_MAX}, {}));
}

TEST_F(GivenLimitsTest, ThereAreOnlySoMany) {
  for (std::int64_t i = 1; i <= 100; ++i) ASSERT_TRUE(limits.find(Algorithm::kGcra, {i, kSecondUs}, 1)) << i;
  EXPECT_FALSE(limits.find(Algorithm::kGcra, {1, 2 * kSecondUs}, 1));
  EXPECT_FALSE(limits.find(Algorithm::kFixedWindow, {1, kSecondUs}, {}))
      << "another algorithm, other numbers";
  EXPECT_TRUE(limits.find(Algorithm::kGcra, {1, kSecondUs}, 1)) << "those that are known go on";
}

}  // namespace
}  // namespace sluice

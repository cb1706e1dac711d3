// Agreements with single users: their tier, and their own numbers.
#include <gtest/gtest.h>

#include "engine/testing/engine_fixture.h"

namespace sluice {
namespace {

using testing::kNowUs;
using testing::make_limit;
using testing::make_policy;

class UsersTest : public testing::EngineFixture {
 protected:
  void SetUp() override {
    Policy policy =
        make_policy("p", {make_limit({.name = "second", .per = {"user"}, .rate = {3, kSecondUs}}),
                          make_limit({.name = "day", .per = {"user"}, .rate = {100, 86'400 * kSecondUs}})});
    policy.tiers.edit()["premium"] = policy.limits;
    policy.tiers.edit()["premium"][0].params = numbers(10);
    publish({policy});
  }

  static LimitParams numbers(std::int64_t per_second) {
    return make_limit_params(Algorithm::kGcra, {per_second, kSecondUs}, {}).value();
  }
  void agree(User user) {
    auto changed = snapshots.current()->with({.put_users = {std::move(user)}}, params);
    ASSERT_TRUE(changed);
    snapshots.publish(*changed);
  }
  // How many of 20 checks pass.
  int admitted(const CheckRequest& request) {
    int passed = 0;
    for (int i = 0; i < 20; ++i) passed += check(request).allowed;
    return passed;
  }
};

TEST_F(UsersTest, ATierGivenToAUserHoldsWhateverTheRequestSays) {
  agree({.id = "ann", .tier = "premium", .overrides = {}});
  const Dimension says_free[] = {{"tier", "free"}};
  const Dimension says_premium[] = {{"tier", "premium"}};
  EXPECT_EQ(admitted({.key = "ann", .dimensions = says_free}), 10);
  EXPECT_EQ(admitted({.key = "bob"}), 3);
  EXPECT_EQ(admitted({.key = "eve", .dimensions = says_premium}), 10) << "nothing is agreed with her";
  const Dimension by_name[] = {{"user", "ann"}};
  clock.advance(kSecondUs);
  EXPECT_EQ(admitted({.key = "a connection", .dimensions = by_name}), 10);
}

// A caller who may choose the dimension `user` must not gain from it on a limit that counts something else.
TEST_F(UsersTest, ALimitTakesWhatIsAgreedWithWhomItCounts) {
  Policy policy = make_policy("by", {make_limit({.name = "key", .per = {"key"}, .rate = {3, kSecondUs}}),
                                     make_limit({.name = "user", .per = {"user"}, .rate = {3, kSecondUs}}),
                                     make_limit({.name = "ip", .per = {"ip"}, .rate = {3, kSecondUs}})});
  policy.tiers.edit()["premium"] = policy.limits;
  for (Limit& limit : policy.tiers.edit()["premium"]) limit.params = numbers(10);
  publish({policy});
  agree({.id = "whale",
         .tier = "",
         .overrides = {{"by", "key", numbers(50), 0}, {"by", "user", numbers(60), 0}}});
  agree({.id = "member", .tier = "premium", .overrides = {}});
  const auto capacities = [&](std::string_view key, std::vector<Dimension> dimensions) {
    dimensions.push_back({"ip", "10.0.0.1"});
    const Decision decision = check({.policy_id = "by", .key = key, .dimensions = dimensions});
    std::vector<std::int64_t> capacities;
    for (const LimitStatus& status : decision.limits) capacities.push_back(status.numbers->capacity);
    return capacities;
  };
  using Capacities = std::vector<std::int64_t>;  // of the limits on key, user and ip
  EXPECT_EQ(capacities("whale", {}), (Capacities{50, 60, 3}));
  EXPECT_EQ(capacities("member", {}), (Capacities{10, 10, 3}));
  EXPECT_EQ(capacities("eve", {{"user", "whale"}}), (Capacities{3, 60, 3}));
  EXPECT_EQ(capacities("eve", {{"user", "member"}}), (Capacities{3, 10, 3}));
  EXPECT_EQ(capacities("member", {{"user", "whale"}}), (Capacities{10, 60, 3}));
  EXPECT_EQ(capacities("member", {{"user", "eve"}, {"tier", "free"}}), (Capacities{10, 3, 3}));
  EXPECT_EQ(capacities("eve", {{"user", "member"}, {"tier", "premium"}}), (Capacities{10, 10, 10}))
      << "without an agreement the tier of the request applies";
}

TEST_F(UsersTest, AnOverrideReplacesTheNumbersOfOneLimitUntilItExpires) {
  agree({.id = "ann",
         .tier = "",
         .overrides = {{"p", "second", numbers(7), kNowUs + 10 * kSecondUs},
                       {"other", "second", numbers(1), 0}}});
  const Decision first = check({.key = "ann"});
  EXPECT_EQ(first.limit(), 7);
  EXPECT_EQ(first.remaining(), 6);
  EXPECT_EQ(first.current(), 1);
  EXPECT_EQ(admitted({.key = "ann"}), 6);
  EXPECT_EQ(admitted({.key = "bob"}), 3);
  clock.set(kNowUs + 10 * kSecondUs);
  EXPECT_EQ(admitted({.key = "ann"}), 3) << "it has expired";
}

// A rule for one tier leaves such a limit for everyone else.
TEST_F(UsersTest, ALimitOfTheLargestNumbersIsNoLimit) {
  Policy policy = make_policy("p", {make_limit({.name = "second", .per = {"user"}})});
  policy.limits[0].params = no_limit();
  policy.tiers.edit()["free"] = policy.limits;
  policy.tiers.edit()["free"][0].params = numbers(3);
  publish({policy});
  const Decision plain = check({.key = "ann", .cost = 1'000'000'000});
  EXPECT_EQ(plain.reason, Reason::kNoLimit);
  EXPECT_EQ(plain.limit(), -1);
  EXPECT_TRUE(plain.limits.empty());
  const Dimension free[] = {{"tier", "free"}};
  EXPECT_EQ(admitted({.key = "ann", .dimensions = free}), 3);
  agree({.id = "bob", .tier = "", .overrides = {{"p", "second", numbers(5), kNowUs + kSecondUs}}});
  EXPECT_EQ(admitted({.key = "bob"}), 5) << "what is agreed with him holds";
  clock.advance(kSecondUs);
  EXPECT_EQ(check({.key = "bob"}).reason, Reason::kNoLimit);
}

TEST_F(UsersTest, AnOverrideWinsOverTheTier) {
  agree({.id = "ann", .tier = "premium", .overrides = {{"p", "second", numbers(5), 0}}});
  EXPECT_EQ(admitted({.key = "ann"}), 5);
}

TEST_F(UsersTest, WhatWasUsedBeforeCountsAfterwards) {
  EXPECT_EQ(admitted({.key = "ann"}), 3);
  agree({.id = "ann", .tier = "", .overrides = {{"p", "second", numbers(5), 0}}});
  EXPECT_EQ(admitted({.key = "ann"}), 2) << "3 of 5 are used";
}

TEST_F(UsersTest, AnOverrideHoldsUntilItExpires) {
  agree({.id = "ann", .tier = "", .overrides = {{"p", "second", numbers(5), kNowUs + kSecondUs}}});
  Planner planner({snapshots, hasher, clock, totals, store});
  ASSERT_TRUE(planner.plan({.key = "ann"}, Purpose::kLook));
  EXPECT_EQ(planner.enforced().charges[0].params, params.intern(numbers(5)));
  clock.advance(kSecondUs);
  ASSERT_TRUE(planner.plan({.key = "ann"}, Purpose::kLook));
  EXPECT_EQ(planner.enforced().charges[0].params, snapshots.current()->find("p")->limits[0].params);
}

}  // namespace
}  // namespace sluice

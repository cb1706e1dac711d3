#include "engine/admission/big_switch.h"

#include "engine/testing/engine_fixture.h"

namespace sluice {
namespace {

using Hand = BigSwitch::Hand;
using testing::kNowUs;

SwitchWord open_at(std::int64_t at_us, std::int64_t seconds) {
  return {.open = true, .at_us = at_us, .until_us = at_us + seconds * kSecondUs, .actor = "a", .reason = "r"};
}
SwitchWord normal_at(std::int64_t at_us) { return {.at_us = at_us, .actor = "b"}; }

TEST(BigSwitch, IsOpenFromAWordToItsEnd) {
  BigSwitch big_switch;
  EXPECT_FALSE(big_switch.is_open());
  EXPECT_TRUE(big_switch.say(Hand::kOperators, open_at(kNowUs, 10), kNowUs));
  EXPECT_TRUE(big_switch.is_open());
  EXPECT_FALSE(big_switch.expire(kNowUs + 10 * kSecondUs - 1));
  EXPECT_TRUE(big_switch.is_open());
  EXPECT_TRUE(big_switch.expire(kNowUs + 10 * kSecondUs));
  EXPECT_FALSE(big_switch.is_open());
  EXPECT_FALSE(big_switch.expire(kNowUs + 11 * kSecondUs)) << "it closes once";
}

TEST(BigSwitch, AWordOfThePastOpensNothing) {
  BigSwitch big_switch;
  EXPECT_TRUE(big_switch.say(Hand::kOperators, open_at(kNowUs, 10), kNowUs + 10 * kSecondUs));
  EXPECT_FALSE(big_switch.is_open());
}

TEST(BigSwitch, TheNewestWordCountsInWhateverOrderTheyCome) {
  BigSwitch big_switch;
  EXPECT_TRUE(big_switch.say(Hand::kOperators, open_at(kNowUs, 10), kNowUs));
  EXPECT_TRUE(big_switch.say(Hand::kOperators, normal_at(kNowUs + 5), kNowUs));
  EXPECT_FALSE(big_switch.is_open());
  EXPECT_FALSE(big_switch.say(Hand::kOperators, open_at(kNowUs + 4, 10), kNowUs));
  EXPECT_FALSE(big_switch.say(Hand::kOperators, open_at(kNowUs + 5, 10), kNowUs)) << "the same moment";
  EXPECT_FALSE(big_switch.is_open());
  EXPECT_EQ(big_switch.in_force(kNowUs).word.actor, "b");
}

TEST(BigSwitch, OneHandIsEnoughToHoldItOpen) {
  BigSwitch big_switch;
  big_switch.say(Hand::kOperators, open_at(kNowUs, 20), kNowUs);
  SwitchWord file = open_at(kNowUs + 1, 60);
  file.actor = "file";
  big_switch.say(Hand::kFile, file, kNowUs);
  EXPECT_EQ(big_switch.in_force(kNowUs).word.actor, "file") << "it ends later";
  big_switch.say(Hand::kOperators, normal_at(kNowUs + 2), kNowUs);
  EXPECT_TRUE(big_switch.is_open());
  big_switch.say(Hand::kFile, normal_at(kNowUs + 3), kNowUs);
  EXPECT_FALSE(big_switch.is_open());
}

TEST(BigSwitch, AnEndCanOnlyComeEarlier) {
  BigSwitch big_switch;
  const std::int64_t end_us = 1'000'000;  // by another clock than the word's
  EXPECT_TRUE(big_switch.say(Hand::kOperators, open_at(kNowUs, 10), 0, end_us));
  big_switch.shorten(Hand::kOperators, open_at(kNowUs, 10), end_us + 1);
  EXPECT_EQ(big_switch.in_force(0).ends_us, end_us);
  EXPECT_FALSE(big_switch.say(Hand::kOperators, open_at(kNowUs, 10), 0, end_us + 1)) << "the same command";
  EXPECT_FALSE(big_switch.expire(end_us - 1));
  big_switch.shorten(Hand::kOperators, open_at(kNowUs - 1, 10), end_us - 1);
  EXPECT_FALSE(big_switch.expire(end_us - 1)) << "that was about an older command";
  big_switch.shorten(Hand::kOperators, open_at(kNowUs, 10), end_us - 1);
  EXPECT_TRUE(big_switch.expire(end_us - 1));
}

class SwitchedLimiter : public testing::EngineFixture {
 protected:
  void open() { big_switch.say(Hand::kOperators, open_at(clock.now_us(), 3600), clock.now_us()); }
  void close() { big_switch.say(Hand::kOperators, normal_at(clock.now_us() + 1), clock.now_us()); }

  BigSwitch big_switch;
  Engine switched{{.store = store,
                   .policies = snapshots,
                   .hasher = hasher,
                   .clock = clock,
                   .totals = totals,
                   .big_switch = &big_switch}};
};

TEST_F(SwitchedLimiter, AllowsEverythingAndChargesNothing) {
  publish({testing::make_policy("api", {testing::make_limit({})})});
  const CheckRequest request{.policy_id = "api", .key = "k", .cost = 10};
  EXPECT_TRUE(switched.check(request)->allowed);
  EXPECT_FALSE(switched.check(request)->allowed);
  open();
  for (int i = 0; i < 3; ++i) {
    const auto decision = switched.check(request);
    ASSERT_TRUE(decision);
    EXPECT_TRUE(decision->allowed && decision->degraded && !decision->replayed);
    EXPECT_EQ(decision->reason, Reason::kSwitch);
    EXPECT_EQ(decision->limit(), -1);
    EXPECT_EQ(decision->retry_after_ms(), 0);
  }
  close();
  clock.advance(kSecondUs / 10);
  const auto after = switched.check({.policy_id = "api", .key = "k", .cost = 1});
  EXPECT_TRUE(after->allowed && !after->degraded) << "only the ten before were charged";
  EXPECT_EQ(after->remaining(), 0);
  EXPECT_EQ(totals.sum().switched, 3u);
}

TEST_F(SwitchedLimiter, PoliciesRefuseNothingButMalformedRequestsStayErrors) {
  testing::LimitSpec needs_user{.per = {"user", "ip"}};
  Policy strict = testing::make_policy("strict", {testing::make_limit(needs_user)});
  strict.limits.front().required = true;
  publish({strict});
  const CheckRequest lacks_ip{.policy_id = "strict", .key = "k"};
  EXPECT_FALSE(switched.check(lacks_ip));
  EXPECT_FALSE(switched.validate(lacks_ip));
  open();
  EXPECT_TRUE(switched.check(lacks_ip));
  EXPECT_TRUE(switched.validate(lacks_ip)) << "nor in a batch";
  EXPECT_TRUE(switched.check({.policy_id = "no such policy", .key = "k"}));
  const std::string long_key(kKeyBytesMax + 1, 'k');
  for (const auto& wrong : {CheckRequest{.key = long_key}, {.key = "k", .cost = -1}}) {
    EXPECT_FALSE(switched.check(wrong));
    EXPECT_FALSE(switched.validate(wrong));
  }
}

TEST_F(SwitchedLimiter, RequestIdsAreNotLookedAtAndNotRemembered) {
  publish({testing::make_policy("api", {testing::make_limit({})})});
  const CheckRequest one{.policy_id = "api", .key = "k", .cost = 1, .request_id = "id"};
  const CheckRequest other{.policy_id = "api", .key = "k", .cost = 2, .request_id = "id"};
  open();
  ASSERT_TRUE(switched.validate(one));
  EXPECT_FALSE(switched.identity(one));
  EXPECT_TRUE(switched.check(one));
  EXPECT_TRUE(switched.check(other));
  close();
  EXPECT_FALSE(switched.check(other)->replayed);
}

TEST_F(SwitchedLimiter, LooksAndResetsGoOnAsBefore) {
  publish({testing::make_policy("api", {testing::make_limit({})})});
  const CheckRequest request{.policy_id = "api", .key = "k", .cost = 4};
  switched.check(request);
  open();
  const auto usage = switched.usage(request);
  ASSERT_TRUE(usage);
  EXPECT_EQ(usage->remaining(), 6);
  EXPECT_FALSE(usage->degraded);
  EXPECT_EQ(switched.reset(request).value(), 1);
  EXPECT_EQ(switched.usage(request)->remaining(), 10);
}

}  // namespace
}  // namespace sluice

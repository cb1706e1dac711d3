#include "store/redis/queue/remembered_denials.h"

#include <gmock/gmock.h>

#include "store/redis/script/stamp.h"
#include "store/redis/script/wire.h"
#include "store/redis/testing/redis_replies_fixture.h"

namespace sluice {
namespace {

using testing::HasSubstr;

// A RedisStore that was told of a denial, and is asked again. The server's clock is at kThen when it answers.
class RememberedDenialsTest : public RedisRepliesFixture {
 protected:
  RememberedDenialsTest() { options_.batches_in_flight = 100; }

  static constexpr std::int64_t kThen = 1'800'000'000 * kSecond;
  static constexpr std::uint64_t kKey = 1;

  ParamsId limit(Algorithm algorithm, std::int64_t count, std::int64_t period_us) {
    return params_.intern(make_limit_params(algorithm, {count, period_us}, std::nullopt).value());
  }
  // The value of a bucket that will be full after this time.
  std::string bucket(ParamsId params, std::int64_t full_after_us) const {
    std::string value = stamp_of(params_[params]);
    append_number(value, static_cast<std::uint64_t>(kThen + full_after_us), 7);
    append_number(value, 0, 1);
    return value;
  }
  static std::string bulk(const std::string& value) {
    return "$" + std::to_string(value.size()) + "\r\n" + value + "\r\n";
  }
  // The script's reply to a single check.
  static std::string reply(const std::vector<std::string>& values, int admitted) {
    std::string all = "*" + std::to_string(2 + values.size()) + "\r\n:" + std::to_string(kThen) + "\r\n";
    for (const std::string& value : values) all += bulk(value);
    return all + ":" + std::to_string(admitted) + "\r\n";
  }
  static std::unique_ptr<TestCall> made(std::vector<Charge> charges) {
    return std::make_unique<TestCall>(std::move(charges));
  }
  std::unique_ptr<TestCall> one(std::int64_t cost = 1) {
    return made({{.key = {0, kKey}, .params = limit_, .cost = cost}});
  }
  // 10 a minute: a unit takes 6 s.
  void be_denied(std::int64_t full_after_us = 60 * kSecond) {
    const auto first = one();
    ASSERT_FALSE(store_->start(*first));
    server_.take_sent();
    server_.say(reply({bucket(limit_, full_after_us)}, 0));
    ASSERT_EQ(first->verdict, Verdict::kDenied);
  }
  // Whether the server is asked.
  bool is_asked(std::unique_ptr<TestCall> call) {
    const bool is_done = store_->start(*call);
    if (is_done) {
      EXPECT_EQ(server_.take_sent(), "");
      EXPECT_EQ(call->verdict, Verdict::kDenied);
      return false;
    }
    EXPECT_THAT(server_.take_sent(), HasSubstr("EVALSHA"));
    asked_.push_back(std::move(call));
    return true;
  }

  std::vector<std::unique_ptr<TestCall>> asked_;
};

TEST_F(RememberedDenialsTest, TheSameIsDeniedAgainWithoutARoundTripAndToldTheTruth) {
  connect();
  be_denied();
  pass(40'000);
  const auto again = one();
  ASSERT_TRUE(store_->start(*again));
  EXPECT_EQ(server_.take_sent(), "");
  EXPECT_EQ(again->verdict, Verdict::kDenied);
  EXPECT_EQ(again->results_known, 1u);
  EXPECT_EQ(again->now_us, kThen + 40'000) << "the server's time, not ours";
  const ChargeResult& told = again->results[0];
  EXPECT_EQ(told.outcome, (Outcome{.allowed = false,
                                   .remaining = 0,
                                   .retry_after_us = 6 * kSecond - 40'000,
                                   .reset_after_us = 60 * kSecond - 40'000}));
  EXPECT_EQ(told.pressure, Pressure::kThrottled);
  EXPECT_EQ(store_->stats().denied_from_memory, 1u);
  EXPECT_EQ(store_->stats().checks, 1u);
}

TEST_F(RememberedDenialsTest, OtherNodesMayHaveGivenRoomBackSoItIsNotBelievedForLong) {
  connect();
  be_denied();
  pass(RememberedDenials::kForUs - 1);
  EXPECT_FALSE(is_asked(one()));
  pass(1);
  EXPECT_TRUE(is_asked(one()));
}

TEST_F(RememberedDenialsTest, TheTimeCountsFromTheQuestionNotFromTheAnswer) {
  connect();
  const auto first = one();
  store_->start(*first);
  server_.take_sent();
  pass(30'000);
  server_.say(reply({bucket(limit_, 60 * kSecond)}, 0));
  pass(RememberedDenials::kForUs - 30'000 - 1);
  EXPECT_FALSE(is_asked(one()));
  pass(1);
  EXPECT_TRUE(is_asked(one()));
}

TEST_F(RememberedDenialsTest, WhoHasRoomAgainIsAskedForAtOnce) {
  connect();
  be_denied(54 * kSecond + 20'000);  // a unit in 20 ms
  pass(19'999);
  const auto early = one();
  ASSERT_TRUE(store_->start(*early));
  EXPECT_EQ(early->results[0].outcome.retry_after_us, 1);
  pass(1);
  EXPECT_TRUE(is_asked(one()));
}

TEST_F(RememberedDenialsTest, EveryCostIsDecidedByItself) {
  connect();
  const auto first = one(5);
  store_->start(*first);
  server_.take_sent();
  server_.say(reply({bucket(limit_, 42 * kSecond)}, 0));  // 7 are used
  ASSERT_EQ(first->verdict, Verdict::kDenied);
  const auto larger = one(6);
  ASSERT_TRUE(store_->start(*larger));
  EXPECT_EQ(larger->remaining(), 3);
  EXPECT_EQ(larger->results[0].outcome.retry_after_us, 18 * kSecond);
  const auto never = one(11);
  ASSERT_TRUE(store_->start(*never));
  EXPECT_EQ(never->results[0].outcome.retry_after_us, kNever);
  EXPECT_TRUE(is_asked(one(3))) << "it fits";
}

TEST_F(RememberedDenialsTest, OtherLimitsOfTheCheckTellTheirLevels) {
  connect();
  const ParamsId wide = limit(Algorithm::kGcra, 1'000, kSecond);
  const auto both = [&] {
    return made({{.key = {0, kKey}, .params = limit_}, {.key = {0, 2}, .params = wide}});
  };
  const auto first = both();
  store_->start(*first);
  server_.take_sent();
  server_.say(reply({bucket(limit_, 60 * kSecond), bucket(wide, 500'000)}, 0));
  ASSERT_EQ(first->remaining(1), 500);
  pass(50'000);
  const auto again = both();
  ASSERT_TRUE(store_->start(*again));
  EXPECT_EQ(again->remaining(1), 550) << "it fills up meanwhile";
  EXPECT_TRUE(again->results[1].outcome.allowed);
  EXPECT_TRUE(is_asked(made({{.key = {0, 2}, .params = wide}}))) << "which has room";
  EXPECT_TRUE(is_asked(made({{.key = {0, kKey}, .params = limit_}, {.key = {0, 3}, .params = wide}})))
      << "whose level is not known";
}

TEST_F(RememberedDenialsTest, WhatTheServerHasToHearOfItHears) {
  connect();
  be_denied();
  auto with_id = one();
  with_id->dedupe = Dedupe{{5, 5}, 7, kSecond};
  EXPECT_TRUE(is_asked(std::move(with_id)));
  EXPECT_TRUE(is_asked(one(0))) << "a look";
  EXPECT_TRUE(
      is_asked(made({{.key = {0, kKey}, .params = limit_, .cost = 1, .on_denial = OnDenial::kCharge}})));
  auto refund = one();
  refund->refund_of_us = Grant::kAnyTime;
  EXPECT_TRUE(is_asked(std::move(refund)));
}

TEST_F(RememberedDenialsTest, ALeakyBucketCountsWhatItDenies) {
  connect();
  const ParamsId leaky = limit(Algorithm::kLeakyBucket, 10, 60 * kSecond);
  const auto denied = made({{.key = {0, kKey}, .params = leaky}});
  store_->start(*denied);
  server_.take_sent();
  server_.say(reply({bucket(leaky, 60 * kSecond)}, 0));
  ASSERT_EQ(denied->verdict, Verdict::kDenied);
  EXPECT_TRUE(is_asked(made({{.key = {0, kKey}, .params = leaky}})));
}

TEST_F(RememberedDenialsTest, OtherNumbersAreAnotherQuestion) {
  connect();
  be_denied();
  const ParamsId raised = limit(Algorithm::kGcra, 20, 60 * kSecond);
  EXPECT_TRUE(is_asked(made({{.key = {0, kKey}, .params = raised}})));
}

TEST_F(RememberedDenialsTest, ACounterUnderOtherNumbersIsNotRemembered) {
  connect();
  const ParamsId former = limit(Algorithm::kGcra, 5, 60 * kSecond);
  const auto first = one();
  store_->start(*first);
  server_.take_sent();
  server_.say(reply({bucket(former, 60 * kSecond)}, 0));
  ASSERT_EQ(first->verdict, Verdict::kDenied);
  EXPECT_TRUE(is_asked(one()));
}

TEST_F(RememberedDenialsTest, AResetTakesEffectAtOnceOnEveryLoop) {
  connect();
  be_denied();
  const RedisBackendOptions shared = options_;  // like those of another loop of the process
  redis::FakeTransport elsewhere;
  RedisStore other(elsewhere, clock_, params_, shared, [](std::uint64_t) { return 0; });
  other.tick(clock_.now_us());
  elsewhere.accept();
  elsewhere.say("+OK\r\n$4\r\n5ba1\r\n");
  const CounterName name{{0, kKey}};
  pass(10'000);
  other.reset({&name, 1}, [](int) {});
  EXPECT_FALSE(is_asked(one())) << "nobody has been told yet";
  elsewhere.say(":1\r\n");
  EXPECT_TRUE(is_asked(one()));
}

TEST_F(RememberedDenialsTest, ARefundTakesEffectWhenItIsAnsweredOrLost) {
  for (const bool is_lost : {false, true}) {
    connect();
    be_denied();
    pass(10'000);
    auto refund = one(2);
    refund->refund_of_us = Grant::kAnyTime;
    store_->start(*refund);
    server_.take_sent();
    if (is_lost) {
      server_.cut("Connection reset by peer");
      pass(kSecond / 1000);
      reconnect();
    } else {
      server_.say("*4\r\n:1800000000000000\r\n" + bulk(bucket(limit_, 60 * kSecond)) + ":1\r\n$-1\r\n");
    }
    EXPECT_EQ(refund->times_done, 1);
    EXPECT_TRUE(is_asked(one())) << is_lost;
  }
}

TEST_F(RememberedDenialsTest, WhatALaterAnswerSaysCounts) {
  connect();
  be_denied();
  pass(10'000);
  const auto look = one(0);
  store_->start(*look);
  server_.take_sent();
  server_.say(reply({bucket(limit_, 30 * kSecond)}, 1));  // another node has given room back
  EXPECT_TRUE(is_asked(one()));
}

TEST_F(RememberedDenialsTest, WhileATenantMovesTheServerDecides) {
  options_.heeds_moves = true;
  connect();
  be_denied();
  const auto moving = call(0, 2);
  store_->start(*moving);
  server_.take_sent();
  server_.say("-TENANTMOVING 1\r\n");
  ASSERT_TRUE(moving->moving);
  EXPECT_TRUE(is_asked(one()));
}

TEST_F(RememberedDenialsTest, AServerThatComesBackIsAsked) {
  connect();
  be_denied();
  server_.cut("Connection reset by peer");
  pass(0);
  reconnect();
  EXPECT_TRUE(is_asked(one()));
}

// The server falls silent: what the failure rule is asked about, and what not.
class SilentServerTest : public RememberedDenialsTest {
 protected:
  // What becomes of a call that is sent and never answered.
  Verdict verdict_in_silence(TestCall& call) {
    call.deadline_us = clock_.now_us() + 10'000;
    if (!store_->start(call)) pass(10'001);
    return call.verdict;
  }
  Verdict verdict_in_silence(std::unique_ptr<TestCall> call) {
    const Verdict verdict = verdict_in_silence(*call);
    asked_.push_back(std::move(call));
    return verdict;
  }
};

TEST_F(SilentServerTest, ADenialStandsUntilThereIsRoomAndIsToldTheTruth) {
  connect();
  be_denied();
  pass(kSecond);
  const auto again = one();
  EXPECT_EQ(verdict_in_silence(*again), Verdict::kDenied);
  EXPECT_EQ(again->results_known, 1u);
  EXPECT_EQ(again->results[0].outcome.retry_after_us, 5 * kSecond - 10'001);
  EXPECT_EQ(verdict_in_silence(call(0, 2)), Verdict::kNoAnswer) << "of others nothing is known";
  pass(5 * kSecond);
  EXPECT_EQ(verdict_in_silence(one()), Verdict::kNoAnswer) << "there is room by now";
}

TEST_F(SilentServerTest, ADenialIsNotRememberedForEver) {
  connect();
  const ParamsId slow = limit(Algorithm::kGcra, 10, 3600 * kSecond);
  const auto first = made({{.key = {0, kKey}, .params = slow}});
  store_->start(*first);
  server_.say(reply({bucket(slow, 3600 * kSecond)}, 0));
  ASSERT_EQ(first->verdict, Verdict::kDenied);
  pass(RememberedDenials::kWithoutAnswerUs - 20'000);
  EXPECT_EQ(verdict_in_silence(made({{.key = {0, kKey}, .params = slow}})), Verdict::kDenied);
  pass(10'000);
  EXPECT_EQ(verdict_in_silence(made({{.key = {0, kKey}, .params = slow}})), Verdict::kNoAnswer);
}

TEST_F(SilentServerTest, ItStandsWhileThereIsNoConnectionAndTheServerThatComesBackIsAsked) {
  connect();
  be_denied();
  server_.cut("Connection reset by peer");
  EXPECT_EQ(verdict_in_silence(one()), Verdict::kDenied);
  reconnect();
  EXPECT_TRUE(is_asked(one()));
}

TEST_F(SilentServerTest, ItStandsForRequestIdsAndForWhatTheServerWouldHaveCounted) {
  connect();
  be_denied();
  auto with_id = one();
  with_id->dedupe = Dedupe{{5, 5}, 7, kSecond};
  EXPECT_EQ(verdict_in_silence(std::move(with_id)), Verdict::kDenied);
  EXPECT_EQ(verdict_in_silence(made({{.key = {0, kKey}, .params = limit_, .on_denial = OnDenial::kCharge}})),
            Verdict::kDenied);
  EXPECT_EQ(verdict_in_silence(one(0)), Verdict::kNoAnswer) << "a look is not denied";
}

TEST_F(SilentServerTest, ALeakyBucketDeniesToo) {
  connect();
  const ParamsId leaky = limit(Algorithm::kLeakyBucket, 10, 60 * kSecond);
  const auto first = made({{.key = {0, kKey}, .params = leaky}});
  store_->start(*first);
  server_.say(reply({bucket(leaky, 60 * kSecond)}, 0));
  ASSERT_EQ(first->verdict, Verdict::kDenied);
  EXPECT_EQ(verdict_in_silence(made({{.key = {0, kKey}, .params = leaky}})), Verdict::kDenied);
}

TEST_F(SilentServerTest, OneLimitThatDeniesIsEnoughAndTellsItsNumbers) {
  connect();
  be_denied();
  const auto both = made({{.key = {0, 7}, .params = limit_}, {.key = {0, kKey}, .params = limit_}});
  EXPECT_EQ(verdict_in_silence(*both), Verdict::kDenied);
  EXPECT_EQ(both->results_known, 2u);
  EXPECT_TRUE(both->results[0].outcome.allowed);
  EXPECT_EQ(both->results[0].outcome.remaining, 10) << "not known, so it denies nothing";
  EXPECT_FALSE(both->results[1].outcome.allowed);
  EXPECT_EQ(both->results[1].outcome.retry_after_us, 6 * kSecond - 10'001);
}

TEST_F(SilentServerTest, WhatWasGivenBackIsNotDenied) {
  connect();
  be_denied();
  auto refund = one();
  refund->refund_of_us = kThen;
  refund->results[0].outcome.allowed = true;
  store_->start(*refund);
  EXPECT_EQ(verdict_in_silence(one()), Verdict::kNoAnswer);
}

TEST_F(RememberedDenialsTest, AFixedWindowIsRememberedUntilItEnds) {
  connect();
  const ParamsId window = limit(Algorithm::kFixedWindow, 10, 60 * kSecond);
  std::string value = stamp_of(params_[window]);
  append_number(value, static_cast<std::uint64_t>(kThen / (60 * kSecond)), 7);
  append_number(value, 10, 4);
  const auto first = made({{.key = {0, kKey}, .params = window}});
  store_->start(*first);
  server_.take_sent();
  server_.say(reply({value}, 0));
  pass(1'000);
  const auto again = made({{.key = {0, kKey}, .params = window}});
  ASSERT_TRUE(store_->start(*again));
  EXPECT_EQ(again->results[0].outcome.retry_after_us, first->results[0].outcome.retry_after_us - 1'000);
}

// The table alone.
TEST(RememberedCountersTest, TheLatestHasThePlaceAndNobodyIsTakenForAnother) {
  ParamsTable params;
  const ParamsId limit = params.intern(*make_limit_params(Algorithm::kGcra, {1, 60'000'000}, std::nullopt));
  RememberedDenials denials(params, std::make_shared<FreedCounters>());
  const auto is_denied = [&](std::uint64_t key) {
    TestCall call({{.key = {0, key}, .params = limit}});
    return denials.deny(call, 10, 0);
  };
  const CounterView::Left used_up{.state = {.at = 160'000'000}};
  constexpr std::uint64_t kKeys = 3 * kRememberedCountersMax;
  for (std::uint64_t key = 0; key < kKeys; ++key)
    denials.hear({.key = {0, key},
                  .params = limit,
                  .asked_at_us = 5,
                  .answered_at_us = 6,
                  .decided_at_us = 100'000'000},
                 used_up);
  std::size_t known = 0;
  for (std::uint64_t key = 0; key < 2 * kKeys; ++key) known += is_denied(key) ? 1 : 0;
  EXPECT_EQ(known, kRememberedCountersMax);
  EXPECT_TRUE(is_denied(kKeys - 1));
  denials.tick(5 + RememberedDenials::kWithoutAnswerUs - 1);
  EXPECT_FALSE(denials.empty());
  denials.tick(5 + RememberedDenials::kWithoutAnswerUs);
  EXPECT_TRUE(denials.empty());
}

}  // namespace
}  // namespace sluice

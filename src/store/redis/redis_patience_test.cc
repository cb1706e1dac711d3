#include <gmock/gmock.h>

#include "store/redis/testing/redis_replies_fixture.h"

namespace sluice {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using BreakerState = redis::Breaker::State;

// How long a RedisStore waits for a silent server, what it sends again, and how it treats impatient callers.
class RedisPatienceTest : public RedisRepliesFixture {
 protected:
  bool was_sent() { return server_.take_sent().contains("EVALSHA"); }

  std::vector<std::string> news_;

  void SetUp() override {
    options_.on_news = [this](LogEvent, std::string_view sentence) { news_.emplace_back(sentence); };
  }
};

TEST_F(RedisPatienceTest, ACallIsSentAtMostTwice) {
  connect();
  const auto asked = call_with_id(kSecond);
  store_->start(*asked);
  int times = was_sent() ? 1 : 0;
  for (int i = 0; i < 5; ++i) {
    server_.cut("Connection reset by peer");
    pass(500'000 * i / 10);
    let_in();
    times += asked->times_done == 0 && was_sent() ? 1 : 0;
  }
  EXPECT_EQ(times, 2);
  EXPECT_EQ(asked->times_done, 1);
  EXPECT_EQ(asked->verdict, Verdict::kNoAnswer);
  EXPECT_EQ(store_->stats().sent_again, 1u);
  EXPECT_EQ(store_->stats().lost, 1u);
}

TEST_F(RedisPatienceTest, TheNextCallInTheSamePlaceHasItsOwnTwoTimes) {
  connect();
  const auto asked = call_with_id(kSecond);
  for (const std::uint64_t sent_again : {1u, 2u}) {
    store_->start(*asked);
    server_.cut("Connection reset by peer");
    reconnect();
    EXPECT_EQ(store_->stats().sent_again, sent_again);
    server_.say(admitted_with_id());
    EXPECT_TRUE(asked->allowed());
  }
}

TEST_F(RedisPatienceTest, AfterHalfOfItsTimeACallWithAnIdIsSentAgainOnANewConnection) {
  connect();
  const auto asked = call_with_id(kSecond);
  store_->start(*asked);
  ASSERT_TRUE(was_sent());
  pass(499'999);
  EXPECT_TRUE(server_.open());
  pass(1);
  pass(0);
  let_in();
  EXPECT_TRUE(was_sent());
  server_.say(admitted_with_id());
  EXPECT_TRUE(asked->allowed());
  EXPECT_EQ(store_->backend().breaker_state(), BreakerState::kClosed);
}

// Two loops of one process, and a server that works for the one while the other waits.
class BusyServerTest : public RedisPatienceTest {
 protected:
  static constexpr std::int64_t kDeadline = 10'000;
  // Two full logs of 4,096: 2 · (3 + 409) units of 4 µs.
  static constexpr std::int64_t kBusy = 3'296;

  void SetUp() override {
    connect();
    other_loop_ = std::make_unique<RedisStore>(other_server_, clock_, params_, options_,
                                               [](std::uint64_t) { return 0; });
    other_loop_->tick(clock_.now_us());
    other_server_.accept();
    other_server_.say("+OK\r\n$4\r\n5ba1\r\n");
    const ParamsId log = params_.intern(
        make_limit_params(Algorithm::kSlidingLog, {4096, 3'600 * kSecond}, std::nullopt).value());
    expensive_ = std::make_unique<TestCall>(std::vector<Charge>{{{0, 8}, log}, {{0, 9}, log}},
                                            clock_.now_us() + kSecond);
  }
  void pass_everywhere(std::int64_t us) {
    pass(us);
    other_loop_->tick(clock_.now_us());
  }

  redis::FakeTransport other_server_;
  std::unique_ptr<RedisStore> other_loop_;
  std::unique_ptr<TestCall> expensive_;
};

TEST_F(BusyServerTest, ADeadlineStartsWhenTheExpensiveWorkBeforeItIsDone) {
  ASSERT_FALSE(other_loop_->start(*expensive_));
  const auto asked = call(kDeadline);
  ASSERT_FALSE(store_->start(*asked));
  pass_everywhere(kDeadline + kBusy - 1);
  EXPECT_EQ(asked->times_done, 0);
  pass_everywhere(1);
  EXPECT_EQ(asked->verdict, Verdict::kNoAnswer);
  EXPECT_EQ(asked->times_done, 1);
}

TEST_F(BusyServerTest, WorkThatIsAnsweredOrLostIsOver) {
  for (const bool is_lost : {false, true}) {
    ASSERT_FALSE(other_loop_->start(*expensive_));
    if (is_lost)
      other_server_.cut("Connection reset by peer");
    else
      other_server_.say("-ERR nothing\r\n");
    ASSERT_EQ(expensive_->times_done, is_lost ? 2 : 1);
    const auto asked = call(kDeadline);
    ASSERT_FALSE(store_->start(*asked));
    pass_everywhere(kDeadline - 1);
    EXPECT_EQ(asked->times_done, 0);
    pass_everywhere(1);
    EXPECT_EQ(asked->times_done, 1);
    server_.say(admitted());
  }
}

TEST_F(BusyServerTest, WhoWaitsInTheQueueBehindItHasItsWholeTime) {
  ASSERT_FALSE(store_->start(*expensive_));
  const auto waiting = call(kDeadline);
  ASSERT_FALSE(store_->start(*waiting));
  pass(kDeadline + kBusy - 1);
  EXPECT_EQ(waiting->times_done, 0);
  EXPECT_EQ(store_->backend().breaker_state(), BreakerState::kClosed);
  pass(1'000);
  EXPECT_EQ(waiting->times_done, 1) << "the server should have answered by now";
}

TEST_F(RedisPatienceTest, ACallWithoutAnIdIsGivenUpAndFreesTheWayForTheNext) {
  connect();
  const auto asked = call(kSecond), next = call(kSecond);
  store_->start(*asked);
  store_->start(*next);
  pass(500'000);
  EXPECT_EQ(asked->times_done, 1) << "nobody knows whether it was charged";
  EXPECT_EQ(next->times_done, 0);
  reconnect();
  server_.say(admitted());
  EXPECT_TRUE(next->allowed());
}

TEST_F(RedisPatienceTest, NobodyHasToQueueForLongBehindAPatientCall) {
  connect();
  const auto patient = call_with_id(kSecond);
  store_->start(*patient);
  for (int i = 0; i < 10; ++i) {
    const auto asked = call(10'000);
    const bool at_once = store_->start(*asked);
    pass(10'000);
    EXPECT_EQ(asked->times_done, at_once ? 0 : 1);
  }
  const auto next = call(10'000);
  EXPECT_TRUE(store_->start(*next)) << "on the spot";
  EXPECT_EQ(patient->times_done, 0) << "its answer may still come";
  server_.say(admitted_with_id());
  EXPECT_TRUE(patient->allowed());
}

TEST_F(RedisPatienceTest, LittleTimeIsNoReasonToGiveUpAConnection) {
  connect();
  const auto asked = call_with_id(10'000);
  store_->start(*asked);
  pass(10'000);
  EXPECT_EQ(asked->times_done, 1);
  pass(39'999);
  EXPECT_TRUE(server_.open()) << "the operation timeout is not over";
  pass(1);
  EXPECT_FALSE(server_.open());
}

// How long a connection may be silent depends on who waits for it, not on who has used it before.
class PatientPastTest : public RedisPatienceTest {
 protected:
  // A call with much time was answered a while ago.
  void SetUp() override {
    connect();
    const auto patient = call(kSecond);
    store_->start(*patient);
    server_.say(admitted());
    ASSERT_TRUE(patient->allowed());
    pass(kSecond);
    server_.take_sent();
  }
  // Calls with little time are started, and the connection is dropped.
  void lose_connection(std::size_t calls) {
    std::vector<std::unique_ptr<TestCall>> impatient;
    for (std::size_t i = 0; i < calls; ++i) {
      impatient.push_back(call(40'000, i));
      store_->start(*impatient.back());
    }
    for (int i = 0; i < 5; ++i) pass(10'000);
    EXPECT_FALSE(server_.open());
    for (const auto& each : impatient) EXPECT_EQ(each->times_done, 1);
  }
};

TEST_F(PatientPastTest, OneLongDeadlineKeepsNoSilentConnectionForOthers) {
  const auto asked = call(10'000);
  store_->start(*asked);
  pass(10'000);
  EXPECT_EQ(asked->times_done, 1);
  pass(39'999);
  EXPECT_TRUE(server_.open());
  pass(1);
  EXPECT_FALSE(server_.open()) << "nobody in flight would wait longer";
}

TEST_F(PatientPastTest, ThePatientHaveTheirSecondTryAfterHalfOfTheirTime) {
  const auto impatient = call(10'000), patient = call_with_id(kSecond);
  store_->start(*impatient);
  store_->start(*patient);
  server_.say(admitted());
  ASSERT_TRUE(was_sent());
  pass(499'999);
  EXPECT_TRUE(server_.open());
  pass(1);
  EXPECT_FALSE(server_.open());
}

TEST_F(PatientPastTest, WhatTheImpatientGiveUpOpensNoBreaker) {
  lose_connection(30);
  EXPECT_EQ(store_->backend().breaker_state(), BreakerState::kClosed);
  const auto patient = call(kSecond);
  EXPECT_FALSE(store_->start(*patient)) << "it has the time";
  pass(20'000);
  let_in();
  server_.say(admitted());
  EXPECT_TRUE(patient->allowed());
}

TEST_F(PatientPastTest, ASilenceThatIsLongEnoughForThePatientOpensIt) {
  int lost = 0;
  for (; lost < 20 && store_->backend().breaker_state() == BreakerState::kClosed; ++lost) {
    lose_connection(10);
    for (int i = 0; i < 100 && !server_.open(); ++i) pass(10'000);
    if (server_.open()) let_in();  // it logs us in, and hangs
  }
  EXPECT_GT(lost, 1);
  EXPECT_LT(lost, 20);
}

TEST_F(PatientPastTest, AServerThatIsFarAwayHasTheTimeOfItsLogin) {
  server_.cut("Connection reset by peer");
  pass(20'000);
  pass(300'000);
  let_in();
  const auto asked = call(10'000);
  store_->start(*asked);
  pass(299'999);
  EXPECT_TRUE(server_.open()) << "a round trip takes that long";
  pass(1);
  EXPECT_FALSE(server_.open());
}

TEST_F(RedisPatienceTest, AServerThatAnswersOthersIsNotSilent) {
  options_.batches_in_flight = 4;
  connect();
  std::vector<std::unique_ptr<TestCall>> calls;
  for (int i = 0; i < 4; ++i) calls.push_back(call(kSecond));
  for (const auto& each : calls) store_->start(*each);
  for (int i = 0; i < 3; ++i) {
    pass(300'000);
    server_.say(admitted());
    EXPECT_TRUE(calls[static_cast<std::size_t>(i)]->allowed());
  }
  EXPECT_EQ(store_->stats().connections_lost, 0u);
}

TEST_F(RedisPatienceTest, AnswersThatComeTooLateForMostAreToldToTheOperator) {
  connect();
  const auto check = [&](bool in_time) {
    const auto asked = call(5'000);  // less than a healthy server may need
    store_->start(*asked);
    pass(in_time ? 2'000 : 8'000);
    server_.say(admitted());
    pass(0);
    return asked->verdict != Verdict::kNoAnswer;
  };
  for (int i = 0; i < 9; ++i) EXPECT_FALSE(check(false));
  EXPECT_THAT(store_->health().problems, IsEmpty()) << "too few to judge";
  EXPECT_FALSE(check(false));
  const char* const sentence =
      "answers too late: 100 % of the checks miss their deadlines; raise `deadline` or check the network";
  EXPECT_THAT(store_->health().problems, ElementsAre(HasSubstr("the server " + std::string(sentence))));
  for (int i = 0; i < 190; ++i) check(false);
  EXPECT_THAT(news_, ElementsAre("Redis at redis://cache:6379 " + std::string(sentence)));
  EXPECT_EQ(store_->backend().breaker_state(), BreakerState::kClosed);
  EXPECT_TRUE(store_->health().connected);
  for (int i = 0; i < 200; ++i) EXPECT_TRUE(check(true));
  EXPECT_THAT(store_->health().problems, IsEmpty()) << "half of them";
}

}  // namespace
}  // namespace sluice

#include <gmock/gmock.h>

#include "store/redis/testing/redis_replies_fixture.h"

namespace sluice {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using BreakerState = redis::Breaker::State;

// More calls than the server can answer: that is our overload, and not a failure of the server.
class RedisOverloadTest : public RedisRepliesFixture {
 protected:
  void SetUp() override {
    options_.on_news = [this](LogEvent, std::string_view sentence) { news_.emplace_back(sentence); };
  }
  std::unique_ptr<TestCall> call_of(std::uint32_t caller, std::uint64_t key = 1) {
    auto made = call(10'000, key);
    made->flow = {.caller = caller, .tenant = 1};
    return made;
  }
  TestCall& start(std::unique_ptr<TestCall> made) {
    calls_.push_back(std::move(made));
    TestCall& started = *calls_.back();
    if (store_->start(started)) started.on_done();
    return started;
  }
  // Our loop has nothing to do but wait for the server.
  void wait(std::int64_t us) {
    server_.slept += us;
    pass(us);
  }
  // `count` calls of a caller, each under its own numbers, so that no two of them fit into one batch.
  // `invents`: each for another tenant.
  void fill(std::uint32_t caller, std::size_t count, bool invents = false) {
    for (std::size_t i = 0; i < count; ++i) {
      auto made = std::make_unique<TestCall>(
          std::vector<Charge>{
              {{0, 1},
               params_.intern(*make_limit_params(
                   Algorithm::kGcra, {static_cast<std::int64_t>(10 + i), kSecond}, std::nullopt))}},
          clock_.now_us() + 10'000);
      made->flow = {.caller = caller, .tenant = invents ? static_cast<std::uint32_t>(i) : 1};
      start(std::move(made));
    }
  }

  std::vector<std::unique_ptr<TestCall>> calls_;
  std::vector<std::string> news_;
};

TEST_F(RedisOverloadTest, TimeInOurOwnQueueIsNoFailureOfTheServer) {
  connect();
  fill(1, 40);
  for (int i = 0; i < 40; ++i) {
    pass(5'000);  // in time for the call that was sent, long after the original deadline of the others
    server_.say(admitted());
  }
  for (const auto& each : calls_) EXPECT_TRUE(each->allowed());
  EXPECT_EQ(store_->stats().timeouts, 0u);
  EXPECT_EQ(store_->backend().breaker_state(), BreakerState::kClosed);
}

TEST_F(RedisOverloadTest, TheServersTimeBeginsWhenItIsAsked) {
  connect();
  fill(1, 2);
  pass(9'000);
  server_.say(admitted());
  pass(9'999);
  EXPECT_EQ(calls_[1]->times_done, 0);
  pass(1);
  EXPECT_EQ(calls_[1]->times_done, 1);
  EXPECT_EQ(calls_[1]->verdict, Verdict::kNoAnswer);
}

TEST_F(RedisOverloadTest, WhoWaitsForASilentServerWaitsNoLongerThanTheDeadline) {
  connect();
  fill(1, 3);
  pass(9'999);
  EXPECT_EQ(calls_[2]->times_done, 0);
  pass(1);
  for (const auto& each : calls_) EXPECT_EQ(each->verdict, Verdict::kNoAnswer);
  for (const auto& each : calls_) EXPECT_EQ(each->times_done, 1);
}

TEST_F(RedisOverloadTest, WhatArrivedWhileWeWereBusyIsInTime) {
  connect();
  TestCall& asked = start(call_of(1));
  server_.say_when_polled(admitted());
  pass(kSecond);
  EXPECT_TRUE(asked.allowed());
  EXPECT_EQ(store_->stats().timeouts, 0u);
}

TEST_F(RedisOverloadTest, WhatCannotBeServedIsShedAndNotLetThrough) {
  options_.queue_max = 3;
  connect();
  fill(1, 5);  // one is sent, three wait
  EXPECT_EQ(calls_[4]->times_done, 1);
  EXPECT_EQ(calls_[4]->verdict, Verdict::kShed);
  EXPECT_EQ(store_->stats().shed_queue_full, 1u);
  EXPECT_EQ(store_->stats().queue_full, 0u);
  EXPECT_TRUE(store_->busy());
  pass(0);
  EXPECT_THAT(news_, ElementsAre(HasSubstr("is overloaded (checks shed in the last seconds: 1)")));
  for (int i = 0; i < 4; ++i) server_.say(admitted());
  for (int i = 0; i < 4; ++i) EXPECT_TRUE(calls_[static_cast<std::size_t>(i)]->allowed());
  EXPECT_FALSE(store_->busy());
}

TEST_F(RedisOverloadTest, ABystanderGetsInAndGoesWithTheNextBatch) {
  options_.queue_max = 10;
  connect();
  fill(1, 100);
  TestCall& bystander = start(call_of(2, 77));
  ASSERT_EQ(bystander.times_done, 0) << "those who hold the most are shed, not others";
  server_.say(admitted());
  // A call of the large caller and one of the bystander.
  server_.say("*5\r\n:1800000000000000\r\n$-1\r\n$-1\r\n:1\r\n:1\r\n");
  EXPECT_TRUE(bystander.allowed());
}

TEST_F(RedisOverloadTest, WhoInventsTenantsKeepsNobodyElseOut) {
  options_.queue_max = 10;
  connect();
  fill(1, 1'000, true);
  EXPECT_EQ(std::ranges::count(calls_, 0, [](const auto& each) { return each->times_done; }), 1 + 10)
      << "one is sent, ten wait";
  TestCall& bystander = start(call_of(2, 77));
  ASSERT_EQ(bystander.times_done, 0);
  server_.say(admitted());
  server_.say("*5\r\n:1800000000000000\r\n$-1\r\n$-1\r\n:1\r\n:1\r\n");
  EXPECT_TRUE(bystander.allowed()) << "with the next batch";
}

TEST_F(RedisOverloadTest, ATenantBehindABusyGatewayGetsIn) {
  options_.queue_max = 10;
  connect();
  fill(1, 100);
  auto made = call_of(1, 77);
  made->flow.tenant = 2;
  TestCall& bystander = start(std::move(made));
  ASSERT_EQ(bystander.times_done, 0);
  server_.say(admitted());
  server_.say("*5\r\n:1800000000000000\r\n$-1\r\n$-1\r\n:1\r\n:1\r\n");
  EXPECT_TRUE(bystander.allowed());
}

TEST_F(RedisOverloadTest, HoweverManyWaitWhoHasNothingWaitingGetsIn) {
  options_.queue_max = 10;
  connect();
  for (std::uint32_t caller = 1; caller <= 50; ++caller) fill(caller, 5);
  EXPECT_EQ(start(call_of(51, 77)).times_done, 0);
}

// The server is slow for what we send at once, so less is sent.
TEST_F(RedisOverloadTest, WhatGoesAtOnceIsWhatTheServerAnswersInGoodTime) {
  options_.slow_us = kSecond;
  connect();
  const auto keys_sent = [&](const std::string& sent) {
    const std::size_t at = sent.find("5ba1\r\n$") + 6;  // the number of keys follows the script's SHA
    const std::size_t line = sent.find("\r\n", at) + 2;
    return std::stoi(sent.substr(line));
  };
  std::uint64_t key = 100;
  const auto fill_up = [&] {
    while (start(call_of(1, ++key)).times_done == 0) {
    }
  };
  const auto say = [&](int keys) {
    std::string reply = "*" + std::to_string(1 + 2 * keys) + "\r\n:1800000000000000\r\n";
    for (int i = 0; i < keys; ++i) reply += "$-1\r\n";
    for (int i = 0; i < keys; ++i) reply += ":1\r\n";
    server_.say(reply);
  };
  start(call_of(1, 1));
  int sent = keys_sent(server_.take_sent());
  ASSERT_EQ(sent, 1);
  std::vector<int> quick, slow;
  for (int i = 0; i < 8; ++i) {
    fill_up();
    pass(100);
    server_.slept += 100;
    say(sent);
    quick.push_back(sent = keys_sent(server_.take_sent()));
  }
  EXPECT_THAT(quick, ElementsAre(32, 64, 128, 256, 256, 256, 256, 256));
  for (int i = 0; i < 8; ++i) {
    fill_up();
    pass(6'000);
    server_.slept += 6'000;
    say(sent);
    slow.push_back(sent = keys_sent(server_.take_sent()));
  }
  EXPECT_THAT(slow, ElementsAre(256, 128, 64, 32, 16, 8, 4, 4));
}

// Calls on logs, and what the server reports about them: each is full, or has only this one entry.
class ExpensiveCallsTest : public RedisOverloadTest {
 protected:
  static constexpr std::size_t kFull = 4'096;

  TestCall& ask_log(std::uint64_t key) {
    const ParamsId log =
        params_.intern(*make_limit_params(Algorithm::kSlidingLog, {kFull, kSecond}, std::nullopt));
    auto made =
        std::make_unique<TestCall>(std::vector<Charge>{{{key, key}, log, 1}}, clock_.now_us() + kSecond);
    made->flow = {.caller = 1, .tenant = 1};
    return start(std::move(made));
  }
  static std::string reply(std::size_t entries) {
    const std::string value(2 + 11 * entries, 'L');
    return "*4\r\n:1800000000000000\r\n$" + std::to_string(value.size()) + "\r\n" + value +
           "\r\n:1\r\n$-1\r\n";
  }
  std::size_t commands_sent() {
    const std::string sent = server_.take_sent();
    std::size_t count = 0;
    for (std::size_t at = 0; (at = sent.find("EVALSHA", at)) != std::string::npos; ++at) ++count;
    return count;
  }
};

TEST_F(ExpensiveCallsTest, GoOneByOneAndABystanderGoesBeforeTheNext) {
  options_.batches_in_flight = 2;
  connect();
  for (std::uint64_t key = 1; key <= 20; ++key) ask_log(key);
  EXPECT_EQ(commands_sent(), 1u) << "that is work enough to be under way";
  TestCall& bystander = start(call_of(2, 77));
  EXPECT_EQ(commands_sent(), 0u);
  server_.say(reply(kFull));
  EXPECT_TRUE(calls_[0]->times_done == 1 && calls_[1]->times_done == 0);
  server_.say(admitted());
  EXPECT_TRUE(bystander.allowed()) << "next, and with no expensive one in the same batch";
  EXPECT_EQ(calls_[1]->times_done, 0);
}

TEST_F(ExpensiveCallsTest, WhoHasHadOneWaitsForThoseWhoHaveHadNone) {
  connect();
  for (std::uint64_t key = 1; key <= 3; ++key) ask_log(key);
  for (std::uint64_t key = 101; key <= 120; ++key) start(call_of(2, key));
  server_.say(reply(kFull));
  std::string sent = server_.take_sent();
  EXPECT_THAT(sent, HasSubstr("\r\n$2\r\n20\r\n")) << "twenty keys: all of the other's, and no log";
}

TEST_F(ExpensiveCallsTest, WhatTurnsOutToBeCheapGoesTogether) {
  connect();
  ask_log(1);
  server_.say(reply(1));
  ask_log(1);
  server_.take_sent();
  for (std::uint64_t key = 2; key <= 6; ++key) ask_log(key);
  server_.say(reply(1));
  EXPECT_THAT(server_.take_sent(), HasSubstr("\r\n$1\r\n5\r\n")) << "five keys";
}

TEST_F(ExpensiveCallsTest, FewerOfThemMayWait) {
  connect();
  for (std::uint64_t key = 1; key <= 200; ++key) ask_log(key);
  const auto waiting = std::ranges::count(calls_, 0, [](const auto& each) { return each->times_done; });
  EXPECT_LE(waiting, 82) << "that is a tenth of a second";
  EXPECT_GE(waiting, 70);
  EXPECT_EQ(calls_[199]->verdict, Verdict::kShed);
  EXPECT_TRUE(store_->busy());
  EXPECT_EQ(start(call_of(2, 77)).times_done, 0) << "others get in";
  for (int i = 0; i < 200; ++i) start(call_of(2, 78));
  EXPECT_EQ(calls_.back()->times_done, 0) << "as long as they hold less than their part";
}

TEST_F(RedisOverloadTest, RefundsAreNotShed) {
  options_.queue_max = 2;
  connect();
  fill(1, 4);
  auto refund = call_of(1);
  refund->refund_of_us = Grant::kAnyTime;
  EXPECT_EQ(start(std::move(refund)).times_done, 0);
}

TEST_F(RedisOverloadTest, ACallerWhoGoesBeforeItsTurnIsShed) {
  connect();
  fill(1, 1);
  auto hurried = call_of(1, 2);
  hurried->caller_deadline_us = clock_.now_us() + 5'000;
  fill(1, 3);
  TestCall& asked = start(std::move(hurried));
  pass(4'000);
  server_.say(admitted());
  pass(1'000);
  EXPECT_EQ(asked.times_done, 1);
  EXPECT_EQ(asked.verdict, Verdict::kShed);
  EXPECT_EQ(store_->stats().shed_caller_deadline, 1u);
}

TEST_F(RedisOverloadTest, NobodyIsLetThroughForAShortDeadlineOfTheirOwn) {
  connect();
  auto hurried = call_of(1);
  hurried->caller_deadline_us = clock_.now_us() + 1'000;
  TestCall& asked = start(std::move(hurried));
  pass(1'000);
  EXPECT_EQ(asked.verdict, Verdict::kShed) << "a healthy server may need longer than that";
  auto patient = call_of(1, 3);
  patient->deadline_us = clock_.now_us() + 50'000;
  patient->caller_deadline_us = clock_.now_us() + 12'000;
  server_.say(admitted());
  TestCall& second = start(std::move(patient));
  pass(12'000);
  EXPECT_EQ(second.verdict, Verdict::kShed) << "the policy gives the server more time than its caller";
}

// Many impatient calls to a server that is fast enough for the policy affect nobody else.
TEST_F(RedisOverloadTest, CallersInAHurryOpenNoBreaker) {
  connect();
  for (int i = 0; i < 50; ++i) {
    auto hurried = call_of(1);
    hurried->deadline_us = clock_.now_us() + 500'000;
    hurried->caller_deadline_us = clock_.now_us() + 16'000;
    TestCall& asked = start(std::move(hurried));
    pass(16'000);
    EXPECT_EQ(asked.verdict, Verdict::kShed);
    pass(8'000);
    server_.say(admitted());
  }
  EXPECT_EQ(store_->backend().breaker_state(), BreakerState::kClosed);
  EXPECT_THAT(store_->health().problems, IsEmpty());
  auto patient = call_of(2);
  patient->deadline_us = clock_.now_us() + 500'000;
  TestCall& asked = start(std::move(patient));
  pass(24'000);
  server_.say(admitted());
  EXPECT_TRUE(asked.allowed());
}

TEST_F(RedisOverloadTest, NobodyWaitsForAServerThatIsTooSlowForThem) {
  connect();
  for (int i = 0; i < 5; ++i) {
    EXPECT_TRUE(store_->health().connected);
    TestCall& asked = start(call_of(1));
    wait(10'000);
    EXPECT_EQ(asked.times_done, 1);
    EXPECT_EQ(asked.verdict, Verdict::kNoAnswer);
    wait(20'000);
    server_.say(admitted());
  }
  EXPECT_FALSE(store_->health().connected);
  EXPECT_THAT(
      store_->health().problems,
      Contains(HasSubstr("the server does not answer in time (replies take longer than the deadlines")));
  pass(0);
  EXPECT_THAT(news_, Contains(HasSubstr("on_failure decides until it recovers")));
  const auto is_turned_away = [&](std::int64_t time_us) {
    TestCall& asked = start(call(time_us));
    if (asked.times_done == 0) {
      wait(30'000);
      server_.say(admitted());
      EXPECT_TRUE(asked.allowed());
      return false;
    }
    EXPECT_EQ(asked.verdict, Verdict::kNoAnswer);
    return true;
  };
  EXPECT_TRUE(is_turned_away(10'000));
  EXPECT_FALSE(is_turned_away(50'000)) << "for these it is quick enough";
  EXPECT_EQ(store_->backend().breaker_state(), BreakerState::kClosed);

  // An equally slow probe changes nothing.
  pass(500'000);
  wait(30'000);
  server_.say(admitted());
  EXPECT_TRUE(is_turned_away(10'000));
  EXPECT_THAT(store_->health().problems, Contains(HasSubstr("does not answer in time")));

  // A fast one does.
  server_.take_sent();
  pass(500'000);
  EXPECT_THAT(server_.take_sent(), HasSubstr("EVALSHA"));
  wait(9'000);
  server_.say(admitted());
  EXPECT_TRUE(store_->health().connected);
  EXPECT_THAT(store_->health().problems, Not(Contains(HasSubstr("does not answer in time"))));
  EXPECT_EQ(start(call_of(1)).times_done, 0);
}

// A check takes a moment from its start, when its deadline begins, to the queue.
TEST_F(RedisOverloadTest, ADeadlineIsNotTooShortToCountBecauseOfOurOwnTime) {
  connect();
  for (int i = 0; i < 5; ++i) {
    start(call(9'990));
    wait(10'000);
    server_.say(admitted());
  }
  EXPECT_EQ(start(call(9'990)).times_done, 1) << "on the spot";
}

TEST_F(RedisOverloadTest, AFewLateAnswersAmongManyLiftNoLimits) {
  connect();
  for (int i = 0; i < 100; ++i) {
    TestCall& asked = start(call_of(1));
    const bool is_late = i % 10 < 4;
    wait(is_late ? 10'000 : 1'000);
    server_.say(admitted());
    EXPECT_EQ(asked.allowed(), !is_late) << i;
  }
  EXPECT_TRUE(store_->health().connected);
}

// Policies with little time miss their deadlines on a server that is far away but healthy.
TEST_F(RedisOverloadTest, WhoHasLittleTimeLiftsNobodyElsesLimits) {
  for (const std::int64_t little_us : {1'000, 5'000, 10'000, 11'000}) {
    SCOPED_TRACE(little_us);
    connect();
    for (int i = 0; i < 18; ++i) {
      server_.take_sent();
      start(call(little_us));
      const bool was_sent = server_.take_sent().contains("EVALSHA");
      wait(1'000);
      for (const std::uint64_t key : {2u, 3u}) start(call(little_us, key));
      for (int ms = 1; ms < 14; ++ms) wait(1'000);
      TestCall& patient = start(call(200'000, 4));
      wait(1'000);
      if (was_sent) server_.say(admitted());
      wait(15'000);
      server_.say(admitted());
      ASSERT_TRUE(patient.allowed()) << i;
    }
    EXPECT_EQ(store_->backend().breaker_state(), BreakerState::kClosed);
  }
}

TEST_F(RedisOverloadTest, AServerThatIsFarAwayIsNotGivenUpBecauseSomeHaveLittleTime) {
  connect();
  start(call(200'000, 4));
  wait(60'000);
  server_.say(admitted());
  for (int i = 0; i < 5; ++i) {
    server_.take_sent();
    start(call(10'000));
    const bool was_sent = server_.take_sent().contains("EVALSHA");
    for (int tens = 0; tens < 6; ++tens) wait(10'000);
    ASSERT_TRUE(server_.open()) << "others would still wait";
    if (was_sent) server_.say(admitted());
    TestCall& patient = start(call(200'000, 4));
    wait(60'000);
    server_.say(admitted());
    ASSERT_TRUE(patient.allowed()) << i;
  }
}

TEST_F(RedisOverloadTest, WithoutAConnectionEveryoneWaitsForTheirOwnDeadline) {
  connect();
  server_.cut("Connection reset by peer");
  TestCall& patient = start(call(200'000, 4));
  for (int ms = 0; ms < 60; ++ms) {
    start(call(1'000));
    start(call(10'000));
    pass(1'000);
  }
  EXPECT_EQ(start(call(10'000)).times_done, 1) << "on the spot: there was nothing for five times as long";
  ASSERT_EQ(patient.times_done, 0);
  let_in();
  server_.say(admitted());
  EXPECT_TRUE(patient.allowed());
}

TEST_F(RedisOverloadTest, DeadlinesThatAreTooShortForAHealthyServerHurtNobodyElse) {
  connect();
  for (int i = 0; i < 100; ++i) {
    TestCall& asked = start(call(1'000));
    pass(1'000);
    EXPECT_EQ(asked.verdict, Verdict::kNoAnswer);
    pass(1'000);
    server_.say(admitted());
  }
  EXPECT_EQ(store_->backend().breaker_state(), BreakerState::kClosed);
}

}  // namespace
}  // namespace sluice

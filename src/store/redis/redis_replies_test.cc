#include <gmock/gmock.h>

#include "store/redis/script/wire.h"
#include "store/redis/testing/redis_replies_fixture.h"

namespace sluice {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;
using BreakerState = redis::Breaker::State;

using RedisRepliesTest = RedisRepliesFixture;

TEST_F(RedisRepliesTest, ErrorsAreNoAnswerAndExplained) {
  const struct {
    const char* reply;
    const char* problem;
    bool new_connection;
  } cases[] = {
      {"-LOADING Redis is loading the dataset in memory\r\n", "still loading its data", false},
      {"-BUSY Redis is busy running a script.\r\n", "another script has been running", false},
      {"-READONLY You can't write against a read only replica.\r\n", "connect to its master", true},
      {"-NOREPLICAS Not enough good replicas to write.\r\n", "too few replicas", false},
      {"-MISCONF Redis is configured to save RDB snapshots\r\n", "cannot save its data", false},
      {"-NOAUTH Authentication required.\r\n", "requires a password", true},
      {"-NOPERM this user has no permissions\r\n", "lacks rights", true},
      {"-MOVED 3999 127.0.0.1:6381\r\n", "connect with redis+cluster://", false},
      {"-ERR something new\r\n", "answered with an error (ERR something new)", false},
  };
  for (const auto& c : cases) {
    connect();
    const auto asked = call();
    EXPECT_FALSE(store_->start(*asked));
    server_.say(c.reply);
    EXPECT_EQ(asked->times_done, 1) << c.reply;
    EXPECT_EQ(asked->verdict, Verdict::kNoAnswer) << c.reply;
    EXPECT_EQ(server_.open(), !c.new_connection) << c.reply;
    if (!c.new_connection) {
      EXPECT_THAT(store_->health().problems, ElementsAre(HasSubstr(c.problem)));
    }
  }
}

TEST_F(RedisRepliesTest, AMissingScriptIsSentAlong) {
  connect();
  const auto asked = call();
  store_->start(*asked);
  EXPECT_THAT(server_.take_sent(), HasSubstr("EVALSHA\r\n$4\r\n5ba1"));
  server_.say("-NOSCRIPT No matching script.\r\n");
  EXPECT_THAT(server_.take_sent(), HasSubstr("EVAL\r\n$8\r\nreturn 1"));
  EXPECT_EQ(asked->times_done, 0);
  server_.say(admitted());
  EXPECT_TRUE(asked->allowed());
  EXPECT_EQ(asked->remaining(), 9);
}

TEST_F(RedisRepliesTest, RepliesThatDoNotFitEndTheConnection) {
  const char* replies[] = {
      "+OK\r\n",
      ":1\r\n",
      "*0\r\n",
      "*3\r\n:1800000000000000\r\n:5\r\n:1\r\n",         // a number for a value
      "*3\r\n:1800000000000000\r\n$-1\r\n$1\r\n1\r\n",   // a string for a verdict
      "*3\r\n:-5\r\n$-1\r\n:1\r\n",                      // a negative time
      "*3\r\n:9223372036854775807\r\n$-1\r\n:1\r\n",     // a time that is too large
      "*4\r\n:1800000000000000\r\n$-1\r\n:1\r\n:1\r\n",  // one check too many
      "*3\r\n:1800000000000000\r\n$-1\r\n*1\r\n:1\r\n",  // nested
  };
  for (const char* reply : replies) {
    connect();
    const auto asked = call();
    store_->start(*asked);
    server_.say(reply);
    EXPECT_EQ(asked->times_done, 1) << reply;
    EXPECT_EQ(asked->verdict, Verdict::kNoAnswer) << reply;
    EXPECT_FALSE(server_.open()) << reply;
  }
}

TEST_F(RedisRepliesTest, CallsQueueWhileABatchIsInFlight) {
  connect();
  std::vector<std::unique_ptr<TestCall>> calls;
  for (int i = 0; i < 300; ++i) calls.push_back(call());
  for (const auto& each : calls) store_->start(*each);
  EXPECT_EQ(store_->stats().batches, 1u);
  server_.say(admitted());
  EXPECT_EQ(calls[0]->times_done, 1);
  EXPECT_EQ(store_->stats().batches, 2u);
  EXPECT_EQ(store_->stats().checks, 1u + kRedisBatchChecksMax);
  server_.say(admitted(5));
  EXPECT_TRUE(calls[5]->allowed());
  EXPECT_EQ(calls[6]->verdict, Verdict::kDenied);
  EXPECT_EQ(store_->stats().batches, 3u);
}

TEST_F(RedisRepliesTest, AKeyUnderOtherNumbersWaitsForTheNextBatch) {
  options_.batches_in_flight = 1;
  connect();
  const auto first = call(), second = call(), third = call();
  const ParamsId raised = params_.intern(make_limit_params(Algorithm::kGcra, {20, 60 * kSecond}, {}).value());
  TestCall changed({{{0, 1}, raised}});
  store_->start(*first);
  store_->start(*second);
  store_->start(changed);
  store_->start(*third);
  server_.say(admitted());
  EXPECT_EQ(store_->stats().checks, 2u) << "the second alone";
}

TEST_F(RedisRepliesTest, ACallIsAnsweredAtItsDeadline) {
  connect();
  const auto sent = call(10'000), queued = call(10'000), patient = call(30'000);
  store_->start(*sent);
  store_->start(*queued);
  store_->start(*patient);
  pass(9'999);
  EXPECT_EQ(sent->times_done + queued->times_done, 0);
  pass(1);
  EXPECT_EQ(sent->times_done + queued->times_done, 2);
  EXPECT_EQ(sent->verdict, Verdict::kNoAnswer);
  server_.say(admitted());  // late: no call waits for it
  EXPECT_EQ(store_->stats().checks, 2u) << "the one whose deadline passed in the queue was never sent";
  server_.say(admitted());
  EXPECT_TRUE(patient->allowed());
  EXPECT_EQ(sent->times_done, 1);
  EXPECT_EQ(store_->stats().timeouts, 2u);
}

TEST_F(RedisRepliesTest, ImpatientCallersDoNotOpenTheBreaker) {
  connect();
  for (int i = 0; i < 100; ++i) {
    const auto asked = call(1'000);
    store_->start(*asked);
    pass(1'000);
    EXPECT_EQ(asked->verdict, Verdict::kNoAnswer);
    server_.say(admitted());
  }
  EXPECT_EQ(store_->backend().breaker_state(), BreakerState::kClosed);
}

TEST_F(RedisRepliesTest, ASilentServerGetsANewConnection) {
  connect();
  const auto asked = call();
  store_->start(*asked);
  pass(49'999);
  EXPECT_TRUE(server_.open());
  pass(1);
  EXPECT_FALSE(server_.open());
  EXPECT_EQ(asked->verdict, Verdict::kNoAnswer);
  EXPECT_EQ(asked->times_done, 1);
  EXPECT_EQ(store_->stats().late_batches, 1u);
}

TEST_F(RedisRepliesTest, AProbeOfItsOwnFindsOutThatTheServerIsBack) {
  connect();
  for (int i = 0; i < 5; ++i) {
    const auto asked = call();
    store_->start(*asked);
    server_.say("-MISCONF no disk\r\n");
  }
  EXPECT_EQ(store_->backend().breaker_state(), BreakerState::kOpen);
  server_.take_sent();
  const auto refused = call();
  EXPECT_TRUE(store_->start(*refused)) << "on the spot";
  EXPECT_EQ(refused->verdict, Verdict::kNoAnswer);
  EXPECT_EQ(server_.take_sent(), "");
  pass(500'000);
  EXPECT_THAT(server_.take_sent(), HasSubstr("EVALSHA"));
  server_.say("-MISCONF no disk\r\n");
  EXPECT_EQ(store_->backend().breaker_state(), BreakerState::kOpen);
  pass(500'000);
  server_.say(admitted());
  EXPECT_EQ(store_->backend().breaker_state(), BreakerState::kClosed);
  EXPECT_TRUE(store_->health().connected);
  EXPECT_TRUE(store_->health().problems.empty());
}

TEST_F(RedisRepliesTest, ACutConnectionAnswersAllThatWereInFlight) {
  connect();
  const auto sent = call(), queued = call();
  store_->start(*sent);
  store_->start(*queued);
  server_.say("*3\r\n:1800000000");
  server_.cut("Connection reset by peer");
  EXPECT_EQ(sent->verdict, Verdict::kNoAnswer);
  EXPECT_EQ(sent->times_done, 1);
  EXPECT_EQ(queued->times_done, 0) << "it never left: the next connection takes it along";
  reconnect();
  EXPECT_EQ(store_->stats().checks, 2u);
  server_.say(admitted());
  EXPECT_TRUE(queued->allowed());
}

TEST_F(RedisRepliesTest, ACallWithARequestIdIsSentAgain) {
  connect();
  const auto sent = call();
  sent->dedupe = Dedupe{{5, 5}, 7, kSecond};
  store_->start(*sent);
  const std::string first = server_.take_sent();
  pass(0);
  server_.cut("Connection reset by peer");
  EXPECT_EQ(sent->times_done, 0);
  pass(0);
  server_.accept();
  server_.take_sent();
  server_.say("+OK\r\n$4\r\n5ba1\r\n");
  EXPECT_EQ(server_.take_sent(), first);
  EXPECT_EQ(store_->stats().sent_again, 1u);
}

TEST_F(RedisRepliesTest, AnIdleConnectionThatIsClosedIsNoFailure) {
  connect();
  for (int i = 0; i < 10; ++i) {
    server_.cut("closed by the server");
    reconnect();
  }
  pass(0);
  EXPECT_THAT(server_.take_sent(), HasSubstr("EVALSHA")) << "our own: is it well again?";
  server_.say(admitted());
  EXPECT_EQ(store_->backend().breaker_state(), BreakerState::kClosed);
  EXPECT_TRUE(store_->health().problems.empty());
}

// A full server that does not let a script go on writing.
TEST_F(RedisRepliesTest, WhatWritesNothingIsAnsweredByAServerThatTakesNoWrites) {
  for (const bool admits : {false, true}) {
    connect();
    const auto asked = call();
    store_->start(*asked);
    EXPECT_THAT(server_.take_sent(), StartsWith("*6\r\n$7\r\nEVALSHA"));
    server_.say("-OOM command not allowed\r\n");
    EXPECT_THAT(server_.take_sent(), AllOf(HasSubstr("SCRIPT"), HasSubstr("*6\r\n$4\r\nEVAL\r\n")));
    server_.say("$4\r\nf011\r\n-OOM command not allowed\r\n");
    EXPECT_THAT(server_.take_sent(),
                AllOf(StartsWith("*8\r\n$7\r\nEVALSHA\r\n$4\r\nf011"), EndsWith("$0\r\n\r\n$1\r\n1\r\n")))
        << "alone: if denied, nothing is to be written";
    server_.say(admits ? "-OOM command not allowed\r\n" : admitted(0));
    EXPECT_EQ(asked->times_done, 1);
    EXPECT_EQ(asked->verdict, admits ? Verdict::kNoRoom : Verdict::kDenied);
    EXPECT_EQ(store_->backend().breaker_state(), BreakerState::kClosed);
  }
}

TEST_F(RedisRepliesTest, AResetIsAnsweredInAnyCase) {
  connect();
  std::vector<int> answers;
  const auto answer = [&](int count) { answers.push_back(count); };
  const CounterName keys[] = {{.key = {0, 1}}, {.key = {0, 2}}};
  store_->reset(keys, answer);
  EXPECT_THAT(server_.take_sent(), StartsWith("*3\r\n$6\r\nUNLINK\r\n"));
  server_.say(":2\r\n");
  store_->reset(keys, answer);
  server_.say("-OOM no\r\n");
  store_->reset(keys, answer);
  pass(50'000);  // no reply
  store_->reset(keys, answer);
  EXPECT_THAT(answers, ElementsAre(2, -1, -1, -1));
}

// Otherwise it would be refused again with every newcomer, until its deadline.
TEST_F(RedisRepliesTest, WhatAFullServerKnowsDoesNotGoWithNewcomers) {
  connect();
  const auto key_of = [](std::uint64_t key) {
    std::string name;
    append_key(name, "rl:", 0, {0, key});
    return name;
  };
  const auto old = call(0, 1), unknown = call(0, 2), newcomer = call(0, 3);
  store_->begin_burst();
  store_->start(*old);
  store_->start(*unknown);
  store_->end_burst();
  server_.take_sent();
  server_.say("-OOM command not allowed\r\n");
  store_->start(*newcomer);
  server_.say("$4\r\nf011\r\n");
  server_.take_sent();
  server_.say("-STOREFULL 2;;\r\n");  // names the second key
  EXPECT_EQ(unknown->verdict, Verdict::kNoRoom);
  const std::string again = server_.take_sent();
  EXPECT_THAT(again, HasSubstr(key_of(1)));
  EXPECT_THAT(again, Not(HasSubstr(key_of(3))));
  server_.say(admitted());
  EXPECT_TRUE(old->allowed());
  EXPECT_THAT(server_.take_sent(), HasSubstr(key_of(3)));
  server_.say("-STOREFULL 1;;\r\n");
  EXPECT_EQ(newcomer->verdict, Verdict::kNoRoom);
}

}  // namespace
}  // namespace sluice

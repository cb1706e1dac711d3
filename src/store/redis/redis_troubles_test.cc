#include <gmock/gmock.h>

#include "store/redis/testing/redis_replies_fixture.h"

namespace sluice {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using BreakerState = redis::Breaker::State;

// What a RedisStore does about a server that is up but refuses us, and what operators are told.
class RedisTroublesTest : public RedisRepliesFixture {
 protected:
  void SetUp() override {
    options_.on_news = [this](LogEvent event, std::string_view sentence) {
      news_.push_back((is_problem(event) ? "! " : "") + std::string(sentence));
    };
  }
  // The server lets us in and answers every command with `reply`, while a check is made every 10 ms. Returns
  // the number of connections that were made.
  int live_with(const std::string& reply, std::int64_t for_us) {
    const int before = server_.attempts;
    for (std::int64_t us = 0; us < for_us; us += 10'000) {
      calls_.push_back(call(20'000));
      store_->start(*calls_.back());
      if (server_.open() && !store_->backend().ready()) let_in();
      pass(10'000);
      if (server_.open() && server_.take_sent().contains("EVALSHA")) server_.say(reply);
      reasons_missing_ += store_->health().problems.empty() ? 1 : 0;
    }
    return server_.attempts - before;
  }
  void log_in_fails() {
    ASSERT_TRUE(server_.open());
    server_.accept();
    server_.say("-WRONGPASS invalid username-password pair or user is disabled.\r\n");
  }

  std::vector<std::string> news_;
  std::vector<std::unique_ptr<TestCall>> calls_;
  int reasons_missing_ = 0;
};

TEST_F(RedisTroublesTest, WhoLacksRightsOrMeetsAReplicaKnocksOncePerSecond) {
  const std::pair<const char*, const char*> cases[] = {
      {"-NOPERM this user has no permissions to access one of the keys\r\n", "lacks rights"},
      {"-READONLY You can't write against a read only replica.\r\n", "connect to its master"}};
  for (const auto& [reply, reason] : cases) {
    SCOPED_TRACE(reply);
    connect();
    live_with(reply, kSecond / 2);
    reasons_missing_ = 0;
    EXPECT_LE(live_with(reply, 10 * kSecond), 11);
    EXPECT_EQ(reasons_missing_, 0);
    EXPECT_THAT(store_->health().problems, ElementsAre(HasSubstr(reason)));
    // It is repaired: the next attempt finds out.
    live_with(admitted(), 2 * kSecond);
    EXPECT_EQ(store_->backend().breaker_state(), BreakerState::kClosed);
    EXPECT_THAT(store_->health().problems, IsEmpty());
  }
}

TEST_F(RedisTroublesTest, TheReasonStaysUntilSomethingIsAnswered) {
  connect();
  const auto asked = call();
  store_->start(*asked);
  server_.cut("reset");
  pass(0);
  let_in();
  pass(0);
  EXPECT_THAT(server_.take_sent(), HasSubstr("EVALSHA")) << "our own: is it better now?";
  EXPECT_THAT(store_->health().problems, ElementsAre(HasSubstr("not connected (reset)")));
  server_.say(admitted());
  EXPECT_THAT(store_->health().problems, IsEmpty());
}

TEST_F(RedisTroublesTest, ARefusedLogInOpensTheBreakerAndIsToldAtOnce) {
  connect();
  server_.cut("closed");
  pass(0);
  const auto waiting = call(kSecond);
  store_->start(*waiting);
  log_in_fails();
  EXPECT_EQ(waiting->times_done, 1) << "nobody waits for a server that has said no";
  EXPECT_EQ(store_->backend().breaker_state(), BreakerState::kOpen);
  pass(0);
  EXPECT_THAT(news_, ElementsAre("! Redis at redis://cache:6379 is failing: not connected (WRONGPASS invalid "
                                 "username-password pair or user is disabled.); "
                                 "on_failure decides until it recovers"));
  for (int i = 0; i < 5; ++i) {
    pass(kSecond);
    log_in_fails();
  }
  EXPECT_EQ(news_.size(), 1u);
  pass(kSecond);
  let_in();
  pass(0);
  server_.say(admitted());
  pass(0);
  EXPECT_EQ(news_.back(), "Redis at redis://cache:6379 answers again");
  EXPECT_TRUE(store_->health().connected);
}

TEST_F(RedisTroublesTest, NobodyWaitsForLongForAConnectionInVain) {
  store_ = std::make_unique<RedisStore>(server_, clock_, params_, options_, [](std::uint64_t) { return 0; });
  pass(0);
  for (int i = 0; i < 5; ++i) {
    const auto asked = call(10'000);
    EXPECT_FALSE(store_->start(*asked));
    pass(10'000);
    EXPECT_EQ(asked->times_done, 1);
  }
  const auto next = call(10'000);
  EXPECT_TRUE(store_->start(*next)) << "on the spot";
  EXPECT_THAT(news_, ElementsAre(HasSubstr("not connected")));
}

TEST_F(RedisTroublesTest, ALineSaysWhyAndALaterOneWhatHasBecomeOfIt) {
  connect();
  for (int i = 0; i < 5; ++i) {
    const auto asked = call();
    store_->start(*asked);
    server_.say("-NOREPLICAS Not enough good replicas to write.\r\n");
  }
  pass(0);
  EXPECT_THAT(news_, ElementsAre(HasSubstr("too few replicas")));
  for (int i = 0; i < 11; ++i) {
    pass(kSecond);
    server_.say("-MISCONF no disk\r\n");
  }
  EXPECT_THAT(news_, ElementsAre(HasSubstr("NOREPLICAS"), HasSubstr("MISCONF no disk")));
}

TEST_F(RedisTroublesTest, WhoMayNotResetMayStillCheck) {
  connect();
  int forgotten = 0;
  const CounterName counters[] = {{.key = {0, 1}}};
  store_->reset(counters, [&](int count) { forgotten = count; });
  server_.say("-NOPERM this user has no permissions to run the 'unlink' command\r\n");
  EXPECT_EQ(forgotten, -1);
  EXPECT_TRUE(server_.open());
  const auto asked = call();
  store_->start(*asked);
  server_.say(admitted());
  EXPECT_TRUE(asked->allowed());
}

}  // namespace
}  // namespace sluice

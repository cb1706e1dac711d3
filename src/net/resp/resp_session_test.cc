#include "net/resp/resp_session.h"

#include <gtest/gtest.h>

#include <vector>

#include "base/clock.h"
#include "net/testing/application.h"

namespace sluice::net {
namespace {

class RespSessionTest : public testing::Test, public SessionHost {
 protected:
  std::string send(std::string bytes) {
    std::string out;
    session_->receive({bytes.data(), bytes.size()}, out);
    return out;
  }
  std::string resumed() {
    std::string out;
    while (ready_) {
      ready_ = false;
      session_->resume(out);
    }
    return out;
  }
  void output_ready() override { ready_ = true; }

  bool ready_ = false;
  ManualClock clock_{1'000'000'000};
  TestApplication application_;
  SessionContext context_{application_, clock_, &application_};
  std::unique_ptr<RespSession> session_ = std::make_unique<RespSession>(context_, *this, kTestPeer);
};

TEST_F(RespSessionTest, WhoWaitsForAnAnswerOfABusyApplicationIsNotRead) {
  application_.busy = true;
  send("a 1\r\n");
  EXPECT_TRUE(session_->wants_input());
  send("later\r\n");
  EXPECT_FALSE(session_->wants_input());
  application_.redis_later.at(0)("+at last\r\n");
  EXPECT_EQ(resumed(), "+at last\r\n");
  EXPECT_TRUE(session_->wants_input());
}

TEST_F(RespSessionTest, ABusyHandlerGetsItsNextCommandWhenItIsDone) {
  send("later\r\n");
  application_.redis_busy = true;
  EXPECT_EQ(send("a 1\r\nb 2\r\n"), "");
  EXPECT_FALSE(session_->wants_input());
  clock_.advance(3'600'000'000);
  std::string out;
  session_->tick(out);
  EXPECT_EQ(out, "") << "it is not the client who is late";
  application_.redis_busy = false;
  application_.redis_later.at(0)("+at last\r\n");
  EXPECT_EQ(resumed(), "+at last\r\n+1\r\n+2\r\n");
}

TEST_F(RespSessionTest, AnswersPipelinesInPiecesOfAnySize) {
  const std::string commands = "a 1\r\n*2\r\n$1\r\nb\r\n$3\r\nx y\r\n\r\nc 3\r\n";
  EXPECT_EQ(send(commands), "+1\r\n+x y\r\n+3\r\n");
  std::string out;
  for (const char byte : commands) out += send(std::string(1, byte));
  EXPECT_EQ(out, "+1\r\n+x y\r\n+3\r\n");
  EXPECT_TRUE(session_->idle());
}

TEST_F(RespSessionTest, RepliesKeepTheOrderOfCommands) {
  EXPECT_EQ(send("a 1\r\nlater\r\nb 2\r\nlater\r\nc 3\r\nd 4\r\n"), "+1\r\n");
  EXPECT_FALSE(session_->idle());
  application_.redis_later[1]("+second\r\n");
  EXPECT_EQ(resumed(), "");
  application_.redis_later[0]("+first\r\n");
  EXPECT_EQ(resumed(), "+first\r\n+2\r\n+second\r\n+3\r\n+4\r\n");
  EXPECT_EQ(send("e 5\r\n"), "+5\r\n");
}

TEST_F(RespSessionTest, WhoHasGoneGetsNoReply) {
  send("later\r\n");
  session_.reset();
  application_.redis_later[0]("+first\r\n");
  EXPECT_FALSE(ready_);
  EXPECT_EQ(context_.deferred.open_count(), 0u);
}

TEST_F(RespSessionTest, TheLastCommandEndsIt) {
  EXPECT_EQ(send("later\r\nquit OK\r\na 1\r\n"), "");
  EXPECT_FALSE(session_->finished());
  application_.redis_later[0]("+late\r\n");
  EXPECT_EQ(resumed(), "+late\r\n+OK\r\n");
  EXPECT_TRUE(session_->finished());
}

TEST_F(RespSessionTest, WhatIsBrokenIsAnsweredAndEndsIt) {
  EXPECT_EQ(send("a 1\r\n*1\r\n!\r\n"), "+1\r\n-ERR Protocol error: expected '$'\r\n");
  EXPECT_TRUE(session_->finished());
  EXPECT_EQ(send("a 1\r\n"), "");
}

TEST_F(RespSessionTest, WhoPipelinesWithoutEndIsNotRead) {
  std::string many;
  for (std::size_t i = 0; i <= kRedisRepliesWaitingMax; ++i) many += "later\r\n";
  send(many + "a 1\r\n");
  EXPECT_EQ(application_.redis_later.size(), kRedisRepliesWaitingMax);
  EXPECT_FALSE(session_->wants_input());
  session_->end_of_input();
  EXPECT_FALSE(session_->finished());
  for (std::size_t i = 0; i < kRedisRepliesWaitingMax; ++i) application_.redis_later[i]("+x\r\n");
  EXPECT_EQ(resumed().size(), 4 * kRedisRepliesWaitingMax);
  ASSERT_EQ(application_.redis_later.size(), kRedisRepliesWaitingMax + 1);
  application_.redis_later.back()("+y\r\n");
  EXPECT_EQ(resumed(), "+y\r\n+1\r\n");
  EXPECT_TRUE(session_->finished());
}

TEST_F(RespSessionTest, HalfACommandMayNotTakeForEver) {
  send("*2\r\n$1\r\na");
  clock_.advance(context_.timeouts.request_us);
  context_.refresh_time();
  std::string out;
  session_->tick(out);
  EXPECT_TRUE(out.starts_with("-ERR "));
  EXPECT_TRUE(session_->finished());
}

TEST_F(RespSessionTest, IdleConnectionsStay) {
  send("a 1\r\n");
  clock_.advance(context_.timeouts.idle_us + 1);  // an HTTP connection would be closed
  context_.refresh_time();
  std::string out;
  session_->tick(out);
  EXPECT_FALSE(session_->finished());
  session_->drain(out);
  EXPECT_TRUE(session_->finished());
}

TEST_F(RespSessionTest, WhoHasToLogInAndDoesNotIsSentAway) {
  const Peer stranger{.address = "127.0.0.1", .port = Port::kRedis, .names = {}, .is_stranger = true};
  RespSession session(context_, *this, stranger);
  const auto tick_after = [&](std::int64_t us) {
    clock_.advance(us);
    context_.refresh_time();
    std::string bytes = "ping\r\n", out;  // sending something else does not help
    session.receive({bytes.data(), bytes.size()}, out);
    out.clear();
    session.tick(out);
    return out;
  };
  EXPECT_EQ(tick_after(context_.timeouts.redis_login_us - 1), "");
  EXPECT_EQ(tick_after(1).substr(0, 8), "-NOAUTH ");
  EXPECT_TRUE(session.finished());
}

TEST_F(RespSessionTest, AnIdleConnectionStaysForLongButNotForEver) {
  send("a 1\r\n");
  std::string out;
  for (const std::int64_t us : {context_.timeouts.redis_idle_us - 1, std::int64_t{1}}) {
    EXPECT_FALSE(session_->finished());
    clock_.advance(us);
    context_.refresh_time();
    session_->tick(out);
  }
  EXPECT_TRUE(session_->finished());
  EXPECT_EQ(out, "");
}

TEST_F(RespSessionTest, WhatAConnectionHoldsIsCountedAndGivenBack) {
  EXPECT_EQ(session_->held_bytes(), 0u);
  send("a " + std::string(5'000, 'x'));
  EXPECT_GE(session_->held_bytes(), 5'000u);
  send("\r\n");
  EXPECT_EQ(session_->held_bytes(), 0u);
  send("later " + std::string(3'000, 'y') + "\r\nb " + std::string(2'000, 'z') + "\r\n");
  EXPECT_GE(session_->held_bytes(), 5'000u);
  application_.redis_later.back()("+late\r\n");
  resumed();
  EXPECT_EQ(session_->held_bytes(), 0u);
}

TEST_F(RespSessionTest, SheddingGivesEverythingBackAndSaysWhy) {
  send("later " + std::string(3'000, 'y') + "\r\nb 1\r\nc " + std::string(2'000, 'z'));
  std::string out;
  session_->shed(out);
  EXPECT_EQ(out.substr(0, 5), "-ERR ");
  EXPECT_EQ(session_->held_bytes(), 0u);
  EXPECT_TRUE(session_->finished());
  EXPECT_EQ(context_.deferred.open_count(), 0u);
  application_.redis_later.back()("too late, and harmless");
}

TEST_F(RespSessionTest, SheddingDoesNotWaitForAGoodbye) {
  send("later " + std::string(3'000, 'y') + "\r\nquit now\r\n");
  EXPECT_FALSE(session_->finished());
  std::string out;
  session_->shed(out);
  EXPECT_EQ(session_->held_bytes(), 0u);
  EXPECT_TRUE(session_->finished());
}

}  // namespace
}  // namespace sluice::net

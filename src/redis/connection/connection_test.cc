#include "redis/connection/connection.h"

#include <gmock/gmock.h>

#include <vector>

#include "redis/testing/fake_transport.h"

namespace sluice::redis {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class ConnectionTest : public testing::Test, public ConnectionEvents {
 protected:
  ManualClock clock_{1'000'000'000};
  FakeTransport server_;
  ConnectionOptions options_{.address = {.host = "cache"}, .script = "return 1"};
  std::uint64_t chosen_ = 0;  // by the random generator, as a share of thousandths
  std::unique_ptr<Connection> made_;
  std::vector<std::string> heard_;  // events of the connection
  std::function<void()> when_replied_;

  Connection& connection() {
    if (!made_) {
      made_ = std::make_unique<Connection>(
          server_, clock_, options_, [this](std::uint64_t below) { return (below - 1) * chosen_ / 1000; },
          *this);
    }
    return *made_;
  }
  void pass(std::int64_t us) {
    clock_.advance(us);
    connection().tick(clock_.now_us());
  }
  void get_ready() {
    pass(0);
    server_.accept();
    server_.take_sent();
    server_.say(kLoggedIn);
    ASSERT_TRUE(connection().ready());
    heard_.clear();
  }

 private:
  void on_ready() override { heard_.push_back("ready"); }
  void on_reply(std::span<const RespValue> reply) override {
    heard_.push_back("reply " + std::string(reply[0].bytes));
    if (when_replied_) when_replied_();
  }
  void on_lost(std::string_view why) override { heard_.push_back("lost: " + std::string(why)); }
};

TEST_F(ConnectionTest, LogsInAndLoadsTheScript) {
  options_.address = {.host = "cache", .user = "ann", .password = "secret", .database = 3};
  pass(0);
  server_.accept();
  EXPECT_EQ(server_.take_sent(),
            "*3\r\n$4\r\nAUTH\r\n$3\r\nann\r\n$6\r\nsecret\r\n"
            "*2\r\n$6\r\nSELECT\r\n$1\r\n3\r\n"
            "*3\r\n$6\r\nCLIENT\r\n$7\r\nSETNAME\r\n$6\r\nsluice\r\n"
            "*3\r\n$6\r\nSCRIPT\r\n$4\r\nLOAD\r\n$8\r\nreturn 1\r\n");
  server_.say("+OK\r\n+OK\r\n+OK\r\n");
  EXPECT_FALSE(connection().ready());
  server_.say("$4\r\n5ba1\r\n");
  EXPECT_THAT(heard_, ElementsAre("ready"));
  EXPECT_EQ(connection().script_sha(), "5ba1");
}

TEST_F(ConnectionTest, GivesRepliesInOrder) {
  get_ready();
  connection().send("first second", 2);
  EXPECT_EQ(server_.take_sent(), "first second");
  server_.say("+one\r\n+t");
  EXPECT_EQ(connection().unanswered(), 1u);
  server_.say("wo\r\n");
  EXPECT_THAT(heard_, ElementsAre("reply one", "reply two"));
}

TEST_F(ConnectionTest, AReplyThatNobodyAskedForEndsTheConnection) {
  get_ready();
  server_.say("+what\r\n");
  EXPECT_THAT(heard_, ElementsAre("lost: unexpected reply: what"));
  EXPECT_FALSE(server_.open());
}

TEST_F(ConnectionTest, NonsenseEndsTheConnection) {
  get_ready();
  connection().send("x");
  server_.say("HTTP/1.1 400 Bad Request\r\n");
  EXPECT_THAT(heard_, ElementsAre("lost: a value of an unknown type"));
}

TEST_F(ConnectionTest, WhatTheOldConnectionOwedIsNotExpectedOfTheNew) {
  get_ready();
  connection().send("x", 3);
  server_.say("$10\r\nhal");
  server_.cut("reset");
  EXPECT_EQ(connection().unanswered(), 0u);
  get_ready();
  connection().send("y");
  server_.say("+whole\r\n");
  EXPECT_THAT(heard_, ElementsAre("reply whole"));
}

TEST_F(ConnectionTest, DroppingItInTheMiddleOfARepliesStopsThem) {
  get_ready();
  connection().send("x", 2);
  when_replied_ = [this] { connection().drop("enough"); };
  server_.say("+one\r\n+two\r\n");
  EXPECT_THAT(heard_, ElementsAre("reply one", "lost: enough"));
}

TEST_F(ConnectionTest, WaitsLongerAfterEachFailureUpToHalfASecond) {
  chosen_ = 1000;  // the longest delay
  server_.unreachable = true;
  pass(0);
  for (const std::int64_t wait_us : {40'000, 80'000, 160'000, 320'000, 500'000, 500'000}) {
    const int attempts = server_.attempts;
    pass(wait_us - 1);
    EXPECT_EQ(server_.attempts, attempts) << wait_us;
    pass(1);
    EXPECT_EQ(server_.attempts, attempts + 1) << wait_us;
  }
  EXPECT_EQ(heard_.back(), "lost: Network is unreachable");
}

TEST_F(ConnectionTest, TheWaitIsRandomFromNothingOn) {
  server_.unreachable = true;
  for (int i = 0; i < 5; ++i) pass(0);
  EXPECT_EQ(server_.attempts, 5);
}

TEST_F(ConnectionTest, ConnectingAndLoggingInHaveHalfASecond) {
  pass(0);
  pass(499'999);
  EXPECT_TRUE(heard_.empty());
  pass(1);
  EXPECT_THAT(heard_, ElementsAre("lost: connect timed out"));
  pass(1'000'000);
  server_.accept();
  pass(500'000);
  EXPECT_EQ(heard_.back(), "lost: login timed out");
}

TEST_F(ConnectionTest, AServerThatRefusesUsIsAskedAboutOncePerSecond) {
  options_.address.password = "wrong";
  pass(0);
  server_.accept();
  server_.say("-WRONGPASS invalid username-password pair or user is disabled.\r\n");
  EXPECT_THAT(heard_, ElementsAre(HasSubstr("WRONGPASS")));
  pass(999'999);
  EXPECT_EQ(server_.attempts, 1);
  pass(1);
  EXPECT_EQ(server_.attempts, 2);
}

TEST_F(ConnectionTest, AConnectionThatWasOfNoUseIsOneMoreFailure) {
  chosen_ = 1000;  // the longest delay
  for (const std::int64_t wait_us : {40'000, 80'000, 160'000, 320'000, 500'000}) {
    get_ready();
    server_.cut("reset");
    const int attempts = server_.attempts;
    pass(wait_us - 1);
    EXPECT_EQ(server_.attempts, attempts) << wait_us;
    pass(1);
    EXPECT_EQ(server_.attempts, attempts + 1) << wait_us;
  }
  server_.accept();
  server_.say(kLoggedIn);
  connection().note_use();
  server_.cut("reset");
  const int attempts = server_.attempts;
  pass(20'000);
  EXPECT_EQ(server_.attempts, attempts + 1);
}

TEST_F(ConnectionTest, AConnectionThatStoodForAWhileWasNoFailure) {
  chosen_ = 1000;
  for (int i = 0; i < 5; ++i) {
    get_ready();
    pass(2'000'000);
    server_.cut("you are idle");
    const int attempts = server_.attempts;
    pass(20'000);
    EXPECT_EQ(server_.attempts, attempts + 1);
  }
}

TEST_F(ConnectionTest, AServerThatRefusesWhatWeWantIsTriedOnceAtOnceAndThenRarely) {
  get_ready();
  connection().drop_refused("no rights");
  EXPECT_FALSE(connection().refused());
  get_ready();
  for (int i = 0; i < 3; ++i) {
    connection().drop_refused("no rights");
    EXPECT_TRUE(connection().refused());
    const int attempts = server_.attempts;
    pass(999'999);
    EXPECT_EQ(server_.attempts, attempts);
    pass(1);
    EXPECT_EQ(server_.attempts, attempts + 1);
    server_.accept();
    server_.say(kLoggedIn);
  }
  connection().note_use();
  connection().drop_refused("no rights");
  EXPECT_FALSE(connection().refused());
  pass(0);
  EXPECT_TRUE(server_.open());
}

TEST_F(ConnectionTest, AServerWithoutRoomSaysSoBeforeItIsAskedAndIsLeftAlone) {
  pass(0);
  server_.accept();
  server_.say("-ERR max number of clients reached\r\n");
  EXPECT_THAT(heard_, ElementsAre("lost: ERR max number of clients reached"));
  pass(999'999);
  EXPECT_EQ(server_.attempts, 1);
}

TEST_F(ConnectionTest, AServerThatIsLoadingIsAskedSoonAgain) {
  pass(0);
  server_.accept();
  server_.say(
      "-LOADING Redis is loading the dataset in memory\r\n-LOADING Redis is loading the dataset in "
      "memory\r\n");
  EXPECT_THAT(heard_, ElementsAre("lost: LOADING Redis is loading the dataset in memory"));
  pass(0);
  EXPECT_EQ(server_.attempts, 2);
}

TEST_F(ConnectionTest, AUserWithoutTheRightToNameItselfIsFine) {
  pass(0);
  server_.accept();
  server_.say("-NOPERM this user has no permissions to run the 'client|setname' command\r\n$4\r\n5ba1\r\n");
  EXPECT_TRUE(connection().ready());
}

}  // namespace
}  // namespace sluice::redis

#include "redis/inspect/adviser.h"

#include <gmock/gmock.h>

#include "base/time_units.h"
#include "redis/testing/fake_transport.h"

namespace sluice::redis {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

class AdviserTest : public testing::Test, public ConnectionEvents {
 protected:
  AdviserTest() { connect(); }
  void connect() {
    pass(0);
    server_.accept();
    server_.say("+OK\r\n$4\r\n5ba1\r\n");
    server_.take_sent();
  }
  void pass(std::int64_t us) {
    clock_.advance(us);
    connection_.tick(clock_.now_us());
    adviser_.tick(clock_.now_us());
  }
  void tell(std::string_view server, std::string_view memory, std::string_view replication) {
    for (const std::string_view text : {server, memory, replication}) {
      std::string reply;
      append_bulk(reply, text);
      server_.say(reply);
    }
  }

  ManualClock clock_{1'000 * kSecondUs};
  FakeTransport server_;
  std::vector<std::vector<std::string>> changes_;
  Connection connection_{server_,
                         clock_,
                         {.address = {.host = "localhost"}, .script = "return 1"},
                         [](std::uint64_t) { return 0; },
                         *this};
  Adviser adviser_{connection_, 60 * kSecondUs, [this](const auto& advice) { changes_.push_back(advice); }};

 private:
  void on_ready() override { adviser_.on_ready(); }
  void on_reply(std::span<const RespValue>) override {}
  void on_lost(std::string_view) override {}
};

TEST_F(AdviserTest, AsksAfterTheLogInAndNowAndThen) {
  EXPECT_TRUE(connection_.may_send()) << "nobody waits for the advice";
  pass(0);
  EXPECT_EQ(server_.take_sent(),
            "*2\r\n$4\r\nINFO\r\n$6\r\nserver\r\n*2\r\n$4\r\nINFO\r\n$6\r\nmemory\r\n"
            "*2\r\n$4\r\nINFO\r\n$11\r\nreplication\r\n");
  tell("redis_version:5.0.14\r\n", "maxmemory:1\r\nmaxmemory_policy:allkeys-lru\r\n", "role:master\r\n");
  EXPECT_THAT(adviser_.advice(), ElementsAre(HasSubstr("5.0.14"), HasSubstr("allkeys-lru")));
  EXPECT_THAT(changes_, SizeIs(1));
  pass(59 * kSecondUs);
  EXPECT_THAT(server_.take_sent(), testing::Not(HasSubstr("INFO")));
}

TEST_F(AdviserTest, TellsWhenTheAdviceChanges) {
  const char fine[] = "maxmemory:1\r\nmaxmemory_policy:noeviction\r\n";
  const char evicts[] = "maxmemory:1\r\nmaxmemory_policy:allkeys-lru\r\n";
  for (const char* memory : {fine, fine, evicts, evicts, fine}) {
    pass(60 * kSecondUs);
    server_.say("+PONG\r\n");  // the connection was idle for that long, too
    tell("redis_version:7.0.15\r\n", memory, "");
  }
  ASSERT_THAT(changes_, SizeIs(2));
  EXPECT_THAT(changes_[0], SizeIs(1));
  EXPECT_THAT(changes_[1], IsEmpty());
}

TEST_F(AdviserTest, AUserWhoMayNotAskGetsNoAdviceAndNoError) {
  pass(0);
  for (int i = 0; i < 3; ++i)
    server_.say("-NOPERM this user has no permissions to run the 'info' command\r\n");
  EXPECT_THAT(adviser_.advice(), IsEmpty());
  EXPECT_TRUE(connection_.ready());
  pass(0);
  server_.take_sent();
}

TEST_F(AdviserTest, ANodeOfAClusterIsAskedWhetherItNeedsAllSlots) {
  const char question[] = "*3\r\n$6\r\nCONFIG\r\n$3\r\nGET\r\n$29\r\ncluster-require-full-coverage\r\n";
  for (const char* answer : {"no", "yes", "yes"}) {
    pass(60 * kSecondUs);
    server_.say("+PONG\r\n");
    server_.take_sent();
    tell("redis_mode:cluster\r\n", "", "");
    EXPECT_EQ(server_.take_sent(), question);
    std::string reply = "*2\r\n";
    append_bulk(reply, "cluster-require-full-coverage");
    append_bulk(reply, answer);
    server_.say(reply);
  }
  EXPECT_THAT(adviser_.advice(), ElementsAre(HasSubstr("set it to no")));
  EXPECT_THAT(changes_, SizeIs(1)) << "said once";
}

TEST_F(AdviserTest, ANewConnectionIsAskedAnew) {
  adviser_.note_clock(clock_.now_us(), clock_.now_us(), clock_.now_us() + 5 * kSecondUs);
  pass(0);
  tell("redis_version:5.0.14\r\n", "", "");
  EXPECT_THAT(adviser_.advice(), ElementsAre(HasSubstr("5.0.14"), HasSubstr("clock")));
  server_.cut("gone");
  connect();
  EXPECT_THAT(adviser_.advice(), SizeIs(2)) << "until more is known";
  pass(0);
  tell("redis_version:7.0.15\r\n", "", "");
  EXPECT_THAT(adviser_.advice(), IsEmpty());
}

TEST_F(AdviserTest, HalfAnAnswerIsNone) {
  pass(0);
  server_.say("$22\r\nredis_version:5.0.14\r\n\r\n");
  server_.cut("gone");
  connect();
  pass(0);
  tell("", "", "");
  EXPECT_THAT(changes_, IsEmpty());
}

}  // namespace
}  // namespace sluice::redis

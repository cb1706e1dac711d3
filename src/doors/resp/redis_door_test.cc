#include "doors/resp/redis_door.h"

#include "doors/resp/redis_throttle.h"
#include "doors/testing/doors_fixture.h"

namespace sluice::doors::testing {
namespace {

class RedisDoorTest : public DoorsFixture {
 protected:
  // The reply in readable form: its lines, separated by spaces.
  std::string say(std::vector<std::string_view> words) {
    net::TestReply<std::string> reply;
    stays = door->handle(words, reply);
    std::string out = reply.answer();
    EXPECT_TRUE(out.ends_with("\r\n"));
    out.resize(out.size() - 2);
    for (std::size_t at; (at = out.find("\r\n")) != out.npos;) out.replace(at, 2, " ");
    return out;
  }
  std::string throttle(std::vector<std::string_view> arguments) {
    arguments.insert(arguments.begin(), "CL.THROTTLE");
    return say(arguments);
  }
  void connect() { door = std::make_unique<RedisDoor>(context, limits, peer); }

  DoorContext context{engine, options, 1};
  ThrottleLimits limits{snapshots, params};
  std::unique_ptr<RedisDoor> door = std::make_unique<RedisDoor>(context, limits, peer);
  bool stays = true;
};

TEST_F(RedisDoorTest, AnswersWithTheIntegersOfRedisCell) {
  EXPECT_EQ(throttle({"user123", "15", "30", "60", "1"}), "*5 :0 :16 :15 :-1 :2");
  EXPECT_EQ(throttle({"other", "5", "5", "3600"}), "*5 :0 :6 :5 :-1 :720");
  EXPECT_EQ(throttle({"one", "0", "1", "2", "1"}), "*5 :0 :1 :0 :-1 :2");
  EXPECT_EQ(throttle({"one", "0", "1", "2", "1"}), "*5 :1 :1 :0 :2 :2");
  clock.advance(2 * kSecondUs);
  EXPECT_EQ(throttle({"one", "0", "1", "2", "1"}), "*5 :0 :1 :0 :-1 :2");
}

// A limit of 5, one per second.
TEST_F(RedisDoorTest, AnswersOverTimeAsRedisCellDoes) {
  struct Row {
    std::int64_t at_ms;
    std::string_view quantity;
    std::string reply;
  };
  const std::vector<Row> rows = {
      {0, "6", "*5 :1 :5 :5 :-1 :0"},    {0, "1", "*5 :0 :5 :4 :-1 :1"},    {0, "1", "*5 :0 :5 :3 :-1 :2"},
      {0, "1", "*5 :0 :5 :2 :-1 :3"},    {0, "1", "*5 :0 :5 :1 :-1 :4"},    {0, "1", "*5 :0 :5 :0 :-1 :5"},
      {0, "1", "*5 :1 :5 :0 :1 :5"},     {3000, "1", "*5 :0 :5 :2 :-1 :3"}, {3100, "1", "*5 :0 :5 :1 :-1 :4"},
      {4000, "1", "*5 :0 :5 :1 :-1 :4"}, {8000, "1", "*5 :0 :5 :4 :-1 :1"}, {9500, "1", "*5 :0 :5 :4 :-1 :1"},
      {9500, "0", "*5 :0 :5 :4 :-1 :1"}, {9500, "2", "*5 :0 :5 :2 :-1 :3"}, {9500, "5", "*5 :1 :5 :2 :3 :3"}};
  std::int64_t now_ms = 0;
  for (const Row& row : rows) {
    clock.advance((row.at_ms - now_ms) * 1000);
    now_ms = row.at_ms;
    EXPECT_EQ(throttle({"k", "4", "1", "1", row.quantity}), row.reply)
        << row.at_ms << " ms, " << row.quantity;
  }
}

TEST_F(RedisDoorTest, HighRatesAndLongPeriodsAreFine) {
  EXPECT_EQ(throttle({"fast", "999999", "1000000", "1"}), "*5 :0 :1000000 :999999 :-1 :1");
  EXPECT_EQ(throttle({"slow", "0", "1", "2592000"}), "*5 :0 :1 :0 :-1 :2592000");
}

TEST_F(RedisDoorTest, WrongArgumentsAreErrorsAndChargeNothing) {
  const std::string range = "-ERR value is not an integer or out of range";
  for (const auto& [arguments, reply] : std::vector<std::pair<std::vector<std::string_view>, std::string>>{
           {{"k", "1", "1"}, "-ERR wrong number of arguments for 'cl.throttle' command"},
           {{"k", "1", "1", "1", "1", "1"}, "-ERR wrong number of arguments for 'cl.throttle' command"},
           {{"k", "x", "1", "1"}, range},
           {{"k", "1", "1.5", "1"}, range},
           {{"k", "1", "1", "99999999999999999999"}, range},
           {{"k", "1", "1", "1", ""}, range},
           {{"", "1", "1", "1"}, "-ERR the key is empty"},
           {{"k", "-1", "1", "1"}, "-ERR max_burst is out of range"},
           {{"k", "9223372036854775807", "1", "1"}, "-ERR max_burst is out of range"},
           {{"k", "1", "0", "1"}, "-ERR count is out of range"},
           {{"k", "1", "-5", "1"}, "-ERR count is out of range"},
           {{"k", "1", "1", "0"}, "-ERR period is out of range"},
           {{"k", "1", "1", "9223372036854775807"}, "-ERR period is out of range"},
           {{"k", "1", "1", "1", "-1"}, "-ERR quantity is out of range"}})
    EXPECT_EQ(throttle(arguments), reply);
  EXPECT_TRUE(throttle({"k", "1000000000", "1", "2592000"}).starts_with("-ERR ")) << "together too large";
  EXPECT_EQ(throttle({std::string(257, 'k'), "1", "1", "1"}), "-ERR the key is longer than 256 bytes");
  EXPECT_EQ(throttle({"k", "0", "1", "1"}), "*5 :0 :1 :0 :-1 :1");
}

TEST_F(RedisDoorTest, SpeaksWithClientsBeforeTheyComeToThePoint) {
  EXPECT_EQ(say({"ping"}), "+PONG");
  EXPECT_EQ(say({"PING", "hi"}), "$2 hi");
  EXPECT_EQ(say({"echo", "hi"}), "$2 hi");
  EXPECT_EQ(say({"echo"}), "-ERR wrong number of arguments for 'echo' command");
  EXPECT_EQ(say({"SELECT", "0"}), "+OK");
  EXPECT_EQ(say({"SELECT", "1"}), "-ERR DB index is out of range; there is only 0");
  EXPECT_EQ(say({"CLIENT", "GETNAME"}), "$-1");
  EXPECT_EQ(say({"CLIENT", "SETNAME", "gate way"}).substr(0, 4), "-ERR");
  EXPECT_EQ(say({"CLIENT", "SETNAME", "gateway"}), "+OK");
  EXPECT_EQ(say({"CLIENT", "GETNAME"}), "$7 gateway");
  EXPECT_EQ(say({"CLIENT", "SETINFO", "LIB-NAME", "x"}), "+OK");
  EXPECT_EQ(say({"CONFIG", "GET", "save"}), "*2 $4 save $0 ");
  EXPECT_EQ(say({"CONFIG", "SET", "save", ""}).substr(0, 4), "-ERR");
  EXPECT_EQ(say({"COMMAND", "DOCS"}), "*0");
  EXPECT_EQ(say({"GET", "x"}).substr(0, 26), "-ERR unknown command 'GET'");
  EXPECT_EQ(say({"x\r\n+OK"}).substr(0, 28), "-ERR unknown command 'x??+OK");
  EXPECT_TRUE(stays);
  EXPECT_EQ(say({"QUIT"}), "+OK");
  EXPECT_FALSE(stays);
}

TEST_F(RedisDoorTest, ATransactionHasOnlySoManyCommands) {
  const std::vector<std::string_view> one = {"CL.THROTTLE", "k", "4", "1", "3600"};
  EXPECT_EQ(say({"MULTI"}), "+OK");
  for (int i = 0; i < 10'000; ++i) ASSERT_EQ(say(one), "+QUEUED");
  EXPECT_TRUE(say(one).starts_with("-ERR there are too many commands after MULTI"));
  EXPECT_TRUE(say({"EXEC"}).starts_with("-EXECABORT "));
  EXPECT_EQ(say({"EXEC"}), "-ERR EXEC without MULTI");
  EXPECT_EQ(say(one), "*5 :0 :5 :4 :-1 :3600") << "nothing was charged";

  const std::string large(kRedisCommandBytesMax, 'x');
  say({"MULTI"});
  for (std::size_t bytes = 0; bytes < kBodyBytesMax; bytes += large.size()) say({"ECHO", large});
  const std::size_t held = door->held_bytes();
  EXPECT_TRUE(say({"ECHO", large}).starts_with("-ERR there are too many commands after MULTI"));
  EXPECT_EQ(door->held_bytes(), held) << "what is refused is not kept";
  EXPECT_EQ(say({"DISCARD"}), "+OK");
  say({"MULTI"});
  EXPECT_EQ(say(one), "+QUEUED") << "the next one has room";
  EXPECT_EQ(say({"EXEC"}), "*1 *5 :0 :5 :3 :-1 :7200");
}

TEST_F(RedisDoorTest, WhatIsNoCommandIsRefusedAtOnceAndSpoilsTheTransaction) {
  const std::vector<std::string_view> one = {"CL.THROTTLE", "k", "4", "1", "3600"};
  const std::string arguments = "-ERR wrong number of arguments for ";
  for (const auto& [bad, reply] : std::vector<std::pair<std::vector<std::string_view>, std::string>>{
           {{"NOPE"}, "-ERR unknown command 'NOPE'"},
           {{"cl.Throttle", "k"}, arguments + "'cl.throttle' command"},
           {{"CL.THROTTLE", "k", "1", "1", "1", "1", "1"}, arguments + "'cl.throttle' command"},
           {{"ECHO"}, arguments + "'echo' command"},
           {{"PING", "a", "b"}, arguments + "'ping' command"},
           {{"DEL"}, arguments + "'del' command"},
           {{"EXEC", "now"}, arguments + "'exec' command"}}) {
    say({"MULTI"});
    EXPECT_EQ(say(one), "+QUEUED");
    EXPECT_TRUE(say(bad).starts_with(reply)) << bad[0];
    EXPECT_EQ(say(one), "+QUEUED");
    EXPECT_EQ(say({"EXEC"}), "-EXECABORT Transaction discarded because of previous errors.");
  }
  say({"MULTI"});
  EXPECT_EQ(say({"CL.THROTTLE", "k", "x", "1", "3600"}), "+QUEUED") << "found out when it is carried out";
  say(one);
  EXPECT_EQ(say({"EXEC"}), "*2 -ERR value is not an integer or out of range *5 :0 :5 :4 :-1 :3600")
      << "nothing was charged before, and the other command is carried out";
}

TEST_F(RedisDoorTest, HelloChoosesTheVersion) {
  EXPECT_EQ(say({"HELLO"}).substr(0, 19), "*14 $6 server $6 sl");
  EXPECT_EQ(say({"HELLO", "4"}), "-NOPROTO unsupported protocol version");
  EXPECT_EQ(say({"HELLO", "3", "SETNAME"}).substr(0, 4), "-ERR");
  EXPECT_EQ(say({"HELLO", "3", "SETNAME", "gateway"}).substr(0, 2), "%7");
  EXPECT_EQ(say({"CLIENT", "GETNAME"}), "$7 gateway");
  EXPECT_EQ(say({"COMMAND", "DOCS"}), "%0");
  EXPECT_EQ(say({"RESET"}), "+RESET");
  EXPECT_EQ(say({"COMMAND", "DOCS"}), "*0");
}

TEST_F(RedisDoorTest, WhoeverBringsManyLimitsHurtsOnlyHimself) {
  GivenLimits two_shares(params, {.distinct_max = 4, .share = 2});
  options.given_limits = &two_shares;
  peer.is_trusted = false;
  peer.address = "192.0.2.1";
  for (const char* count : {"1", "2", "1", "2"})
    EXPECT_TRUE(throttle({"k", "0", count, "1", "0"}).starts_with("*5 ")) << count;
  EXPECT_TRUE(throttle({"k", "0", "3", "1", "0"}).starts_with("-ERR this caller has sent 2 different"));
  peer.address = "192.0.2.2";
  EXPECT_EQ(throttle({"k", "0", "3", "1"}), "*5 :0 :1 :0 :-1 :1");
  peer.address = "192.0.2.1";
  EXPECT_EQ(throttle({"k", "0", "3", "1"}), "*5 :1 :1 :0 :1 :1") << "now it is known";
}

TEST_F(RedisDoorTest, WhereTokensAreNeededNothingGoesWithoutOne) {
  peer.is_trusted = false;
  options.checks_need_token = true;
  connect();
  EXPECT_TRUE(say({"PING"}).starts_with("-NOAUTH "));
  EXPECT_TRUE(say({"HELLO", "3"}).starts_with("-NOAUTH "));
  EXPECT_TRUE(throttle({"k", "0", "1", "1"}).starts_with("-NOAUTH "));
  EXPECT_TRUE(say({"AUTH", "nonsense"}).starts_with("-WRONGPASS "));
  EXPECT_TRUE(say({"AUTH"}).starts_with("-ERR wrong number"));
  EXPECT_EQ(say({"QUIT"}), "+OK");
  options.checks_need_token = false;
  EXPECT_EQ(throttle({"k", "0", "1", "1"}), "*5 :0 :1 :0 :-1 :1") << "nothing was charged before";
}

}  // namespace
}  // namespace sluice::doors::testing

#include "redis/sentinel/sentinel_replies.h"

#include <gmock/gmock.h>

#include "base/limits.h"

namespace sluice::redis {
namespace {

using testing::ElementsAre;

class SentinelReplies : public testing::Test {
 protected:
  std::span<const RespValue> parsed(std::string_view bytes) {
    parser_.clear();
    parser_.feed(bytes);
    EXPECT_EQ(parser_.next(), RespParser::Status::kReply) << bytes;
    return parser_.reply();
  }
  static std::string bulk(std::string_view text) {
    std::string bytes;
    append_bulk(bytes, text);
    return bytes;
  }

 private:
  RespParser parser_;
};

TEST_F(SentinelReplies, AMasterIsAHostAndAPort) {
  EXPECT_EQ(read_master_address(parsed("*2\r\n$9\r\n127.0.0.1\r\n$5\r\n47371\r\n")),
            (HostAndPort{"127.0.0.1", 47371}));
  const std::string odd[] = {
      "*-1\r\n",
      "+OK\r\n",
      ":1\r\n",
      "-ERR no\r\n",
      "*0\r\n",
      "*1\r\n$1\r\na\r\n",
      "*3\r\n$1\r\na\r\n$1\r\n1\r\n$1\r\n1\r\n",
      "*2\r\n$1\r\na\r\n:6379\r\n",
      "*2\r\n$1\r\na\r\n$-1\r\n",
      "*2\r\n$0\r\n\r\n$4\r\n6379\r\n",
      "*2\r\n$1\r\na\r\n$1\r\n0\r\n",
      "*2\r\n$1\r\na\r\n$5\r\n65536\r\n",
      "*2\r\n$1\r\na\r\n$2\r\n-1\r\n",
      "*2\r\n$1\r\na\r\n$3\r\n12x\r\n",
      "*2\r\n*1\r\n$1\r\na\r\n$1\r\n1\r\n",
      "*2\r\n" + bulk(std::string(256, 'a')) + bulk("6379"),
  };
  for (const std::string& reply : odd) EXPECT_EQ(read_master_address(parsed(reply)), std::nullopt) << reply;
}

TEST_F(SentinelReplies, OtherSentinelsAsRedis7SaysIt) {
  const auto others = read_other_sentinels(parsed(
      "*2\r\n*28\r\n$4\r\nname\r\n$40\r\n81d63ca126019bfedfe268800c02c5555013dc2e\r\n$2\r\nip\r\n$9\r\n127.0."
      "0."
      "1\r\n$4\r\nport\r\n$5\r\n47382\r\n$5\r\nrunid\r\n$40\r\n81d63ca126019bfedfe268800c02c5555013dc2e\r\n$"
      "5\r\nflags\r\n$8\r\nsentinel\r\n$21\r\nlink-pending-commands\r\n$1\r\n0\r\n$13\r\nlink-refcount\r\n$"
      "1\r\n1\r\n$14\r\nlast-ping-sent\r\n$1\r\n0\r\n$18\r\nlast-ok-ping-reply\r\n$3\r\n193\r\n$15\r\nlast-"
      "ping-reply\r\n$3\r\n193\r\n$23\r\ndown-after-milliseconds\r\n$3\r\n300\r\n$18\r\nlast-hello-"
      "message\r\n$4\r\n1653\r\n$12\r\nvoted-leader\r\n$1\r\n?\r\n$18\r\nvoted-leader-epoch\r\n$1\r\n0\r\n"
      "*6\r\n$4\r\nname\r\n$2\r\nid\r\n$2\r\nip\r\n$2\r\n::\r\n$4\r\nport\r\n$5\r\n47383\r\n"));
  EXPECT_THAT(others, ElementsAre(HostAndPort{"127.0.0.1", 47382}, HostAndPort{"::", 47383}));
}

TEST_F(SentinelReplies, OddListsOfSentinelsAreReadAsFarAsTheyGo) {
  const std::string good = "*4\r\n" + bulk("ip") + bulk("a") + bulk("port") + bulk("1");
  const struct {
    std::string reply;
    std::size_t found;
  } cases[] = {
      {"-ERR No such master with that name\r\n", 0},
      {"*-1\r\n", 0},
      {"*0\r\n", 0},
      {"*2\r\n" + good + "*0\r\n", 1},
      {"*2\r\n*2\r\n" + bulk("ip") + bulk("b") + good, 1},              // without a port
      {"*2\r\n*3\r\n" + bulk("x") + bulk("y") + bulk("ip") + good, 1},  // a name without a value
      {"*2\r\n" + good + ":7\r\n", 1},
      {"*2\r\n:7\r\n" + good, 0},
      {"*2\r\n*1\r\n*1\r\n:7\r\n" + good, 0},  // nested: no way to tell where the next one begins
  };
  for (const auto& c : cases) EXPECT_EQ(read_other_sentinels(parsed(c.reply)).size(), c.found) << c.reply;
}

TEST_F(SentinelReplies, OnlyReplicasInGoodOrderAreTaken) {
  const auto replica = [](std::string_view host, std::string_view flags, std::string_view link) {
    return "*8\r\n" + bulk("ip") + bulk(host) + bulk("port") + bulk("6379") + bulk("flags") + bulk(flags) +
           bulk("master-link-status") + bulk(link);
  };
  EXPECT_THAT(read_good_replicas(parsed(
                  "*6\r\n" + replica("a", "slave", "ok") + replica("b", "s_down,slave,disconnected", "ok") +
                  replica("c", "slave", "err") + replica("d", "slave,disconnected", "ok") +
                  replica("e", "o_down,slave", "ok") + replica("f", "slave", "ok"))),
              ElementsAre(HostAndPort{"a", 6379}, HostAndPort{"f", 6379}));
  EXPECT_TRUE(read_good_replicas(parsed("-ERR No such master with that name\r\n")).empty());
}

TEST_F(SentinelReplies, ACrowdOfSentinelsIsCutShort) {
  std::string reply = "*1000\r\n";
  for (int i = 1; i <= 1000; ++i)
    reply += "*4\r\n" + bulk("ip") + bulk("a") + bulk("port") + bulk(std::to_string(i));
  EXPECT_EQ(read_other_sentinels(parsed(reply)).size(), kSentinelsMax);
}

TEST_F(SentinelReplies, ASwitchIsOfOneMaster) {
  const auto message = [&](std::string_view kind, std::string_view channel, std::string_view text) {
    return parsed("*3\r\n" + bulk(kind) + bulk(channel) + bulk(text));
  };
  const char text[] = "mymaster 127.0.0.1 47371 127.0.0.1 47372";
  EXPECT_TRUE(tells_of_switch(message("message", "+switch-master", text), "mymaster"));
  EXPECT_FALSE(tells_of_switch(message("message", "+switch-master", text), "mymast"));
  EXPECT_FALSE(tells_of_switch(message("message", "+switch-master", text), "mymaster2"));
  EXPECT_FALSE(tells_of_switch(message("message", "+switch-master", "mymaster"), "mymaster"));
  EXPECT_FALSE(tells_of_switch(message("message", "+sdown", text), "mymaster"));
  EXPECT_FALSE(tells_of_switch(message("pmessage", "+switch-master", text), "mymaster"));
  EXPECT_FALSE(tells_of_switch(parsed("*2\r\n$4\r\npong\r\n$0\r\n\r\n"), "mymaster"));
  EXPECT_FALSE(
      tells_of_switch(parsed("*3\r\n$9\r\nsubscribe\r\n$14\r\n+switch-master\r\n:1\r\n"), "mymaster"));
}

}  // namespace
}  // namespace sluice::redis

#include <gmock/gmock.h>

#include <map>
#include <set>

#include "store/redis/testing/cluster_replies_fixture.h"

namespace sluice {
namespace {

// However nodes misbehave, and whatever they report about each other: no slot stays unserved for long once
// some node serves it. The nodes answer by themselves here.
class ClusterRecoveryTest : public ClusterRepliesFixture {
 protected:
  struct Server {
    bool up = true;                    // takes connections and logs in
    bool answers = true;               // anything but the login
    std::string map;                   // its reply to CLUSTER SLOTS; empty: none, for ever
    std::string nodes = "$0\r\n\r\n";  // to CLUSTER NODES
    std::string decision;              // its reply to a check; empty: none, for ever
  };

  void SetUp() override {
    options_.node.breaker.failures_in_a_row = 2;
    for (const char* place : {kA, kB, kC, kD}) servers_[place] = {.map = whole_map(), .decision = answer()};
    make_store();
    play(kSecond);
    ASSERT_TRUE(store_->health().connected);
  }

  void play(std::int64_t us) {
    for (const std::int64_t end_us = clock_.now_us() + us; clock_.now_us() < end_us; play_once()) continue;
  }
  void play_once() {
    pass(5'000);
    for (std::size_t i = 0; i < network_.wires.size(); ++i) {
      redis::FakeNetwork::Wire& wire = *network_.wires[i];
      const Server& server = servers_[wire.to];
      if (!server.up) {
        if (wire.open()) wire.cut("Connection refused");
        continue;
      }
      if (wire.open() && accepted_.insert(&wire).second) wire.accept();
      if (wire.open()) serve(wire, server);
    }
  }
  void serve(redis::FakeNetwork::Wire& wire, const Server& server) {
    redis::RespParser commands;
    commands.feed(wire.take_sent());
    while (commands.next() == redis::RespParser::Status::kReply && wire.open()) {
      const std::string_view name = commands.reply()[1].bytes;
      if (name == "CLIENT") {
        wire.say("+OK\r\n");
      } else if (name == "SCRIPT") {
        wire.say("$4\r\n5ba1\r\n");
      } else if (server.answers) {
        wire.say(name != "CLUSTER"                      ? server.decision
                 : commands.reply()[2].bytes == "NODES" ? server.nodes
                                                        : server.map);
      }
    }
  }

  // A map in which this node has the first third of the slots.
  static std::string map_with_first(std::string_view host, int port) {
    return "*3\r\n" + range(0, 5460, host, port) + range(5461, 10922, "b", 7001) +
           range(10923, 16383, "c", 7002);
  }
  // Whether a check on the first third is served.
  bool serves() {
    const auto asked = call_on(kA, 50'000);
    if (!store_->start(*asked))
      while (asked->times_done == 0) play_once();
    return asked->allowed();
  }
  bool serves_within(std::int64_t us) {
    for (const std::int64_t end_us = clock_.now_us() + us; clock_.now_us() < end_us; play_once())
      if (serves()) return true;
    return false;
  }
  // A replica of A, on D, has taken over; A is a replica of D.
  void fail_over() {
    for (const char* place : {kA, kB, kC, kD}) servers_[place].map = map_with_first("d", 7003);
    servers_[kA].decision = redirect("MOVED", tag_on(kA), kD);
  }

  std::map<std::string, Server> servers_;
  std::set<const redis::FakeNetwork::Wire*> accepted_;
};

TEST_F(ClusterRecoveryTest, AFailoverThatIsGivenUpHalfway) {
  servers_[kA].decision = "";  // it does not answer checks, but still answers CLUSTER SLOTS
  EXPECT_FALSE(serves_within(5 * kSecond));
  EXPECT_FALSE(store_->health().connected);
  servers_[kA].decision = answer();
  EXPECT_TRUE(serves_within(2 * kSecond));
  play(kSecond);
  EXPECT_TRUE(store_->health().connected);
}

TEST_F(ClusterRecoveryTest, AFailoverAfterALongPause) {
  servers_[kA].decision = "";
  EXPECT_FALSE(serves_within(5 * kSecond));
  fail_over();
  EXPECT_TRUE(serves_within(2 * kSecond));
}

TEST_F(ClusterRecoveryTest, ANodeThatHangsAfterEveryLogIn) {
  servers_[kA].answers = false;
  EXPECT_FALSE(serves_within(5 * kSecond));
  fail_over();
  servers_[kA].answers = false;
  EXPECT_TRUE(serves_within(2 * kSecond)) << "A itself may be asked for the map, in vain";
}

TEST_F(ClusterRecoveryTest, NodesThatSendToEachOtherAndThenAgree) {
  servers_[kA].decision = redirect("MOVED", tag_on(kA), kD);
  servers_[kD].decision = redirect("MOVED", tag_on(kA), kA);
  EXPECT_FALSE(serves_within(5 * kSecond));
  servers_[kD].decision = answer();
  EXPECT_TRUE(serves()) << "at once: the next redirect leads there";
}

TEST_F(ClusterRecoveryTest, ARedirectToWhereNobodyIs) {
  servers_["x:1"] = {.up = false};
  servers_[kA].decision = redirect("MOVED", tag_on(kA), "x:1");
  EXPECT_FALSE(serves_within(5 * kSecond));
  servers_[kA].decision = answer();
  EXPECT_TRUE(serves_within(2 * kSecond)) << "the map says that it is still at A";
}

TEST_F(ClusterRecoveryTest, AnUnhappyNodeThatHasBecomeAReplicaTellsWhereItsSlotsAre) {
  servers_[kA].decision = "-CLUSTERDOWN The cluster is down\r\n";
  EXPECT_FALSE(serves_within(5 * kSecond)) << "and its breaker is open";
  servers_[kA].decision = redirect("MOVED", tag_on(kA), kD);  // but all maps are old
  EXPECT_TRUE(serves_within(2 * kSecond)) << "the probe is told";
}

TEST_F(ClusterRecoveryTest, AMapIsAskedForUntilThereIsOne) {
  servers_[kA].up = false;
  fail_over();
  const std::string good = map_with_first("d", 7003);
  for (const std::string bad : {"", "-LOADING still\r\n", "+OK\r\n", "*0\r\n", "*1\r\n:1\r\n"}) {
    SCOPED_TRACE(bad);
    for (const char* place : {kB, kC, kD}) servers_[place].map = bad;
    EXPECT_FALSE(serves_within(5 * kSecond));
    for (const char* place : {kB, kC, kD}) servers_[place].map = good;
    EXPECT_TRUE(serves_within(2 * kSecond));
    for (const char* place : {kB, kC, kD}) servers_[place].map = whole_map();  // back to the beginning
    store_.reset();
    make_store();
    accepted_.clear();
    servers_[kA].up = true;
    play(kSecond);
    servers_[kA].up = false;
  }
}

// C is cut off from the others, but not from us, so it serves nothing and learns nothing new.
TEST_F(ClusterRecoveryTest, ANodeThatMissedAFailoverDoesNotTakeTheSlotsBackToTheDead) {
  servers_[kC].decision = "-CLUSTERDOWN The cluster is down\r\n";
  for (int i = 0; i < 5; ++i) {
    const auto asked = call_on(kC, 50'000);
    if (!store_->start(*asked))
      while (asked->times_done == 0) play_once();
  }
  fail_over();
  servers_[kC].map = whole_map();
  servers_[kA].up = false;
  EXPECT_TRUE(serves_within(2 * kSecond));
  play(3 * kSecond);  // C reports its map, too: as all is not well, the map is fetched again and again
  int served = 0, asked = 0;
  for (const std::int64_t end_us = clock_.now_us() + 20 * kSecond; clock_.now_us() < end_us; ++asked) {
    served += serves() ? 1 : 0;
    play(20'000);
  }
  EXPECT_GT(asked, 100);
  EXPECT_EQ(served, asked);
}

// An operator has removed A halfway: it was made to forget the others, and D has its slots; but A is one of
// the seeds, and answers.
TEST_F(ClusterRecoveryTest, ANodeThatHasForgottenTheOthersIsNotBelieved) {
  fail_over();
  servers_[kA] = {.map = "*1\r\n" + range(0, 5460, "a", 7000), .decision = answer()};
  play(2 * kSecond);
  servers_[kC].up = false;  // all is not well: the map is fetched again and again
  const auto served = [&](const char* place) {
    const auto asked = call_on(place, 50'000);
    if (!store_->start(*asked))
      while (asked->times_done == 0) play_once();
    return asked->verdict == Verdict::kAllowed;
  };
  for (const std::int64_t end_us = clock_.now_us() + 20 * kSecond; clock_.now_us() < end_us; play(20'000))
    ASSERT_TRUE(served(kB)) << "B is well";
}

}  // namespace
}  // namespace sluice

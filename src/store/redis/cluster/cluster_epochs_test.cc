#include <gmock/gmock.h>

#include <map>
#include <set>

#include "store/redis/testing/cluster_replies_fixture.h"

namespace sluice {
namespace {

using testing::HasSubstr;

// A replica has taken over, but its old master is cut off from the other nodes and does not know it. The old
// master answers us, and redirects nobody.
class ClusterEpochsTest : public ClusterRepliesFixture {
 protected:
  // What a node says when it is asked.
  struct Server {
    std::string map;    // CLUSTER SLOTS
    std::string nodes;  // CLUSTER NODES
    bool up = true;
    int checks = 0;  // that it has decided
    int asked = 0;   // for its map
  };

  // Lets everything happen that happens within this time.
  void play(std::int64_t us) {
    for (const std::int64_t end_us = clock_.now_us() + us; clock_.now_us() < end_us;) {
      pass(10'000);
      for (std::size_t i = 0; i < network_.wires.size(); ++i) {
        redis::FakeNetwork::Wire& wire = *network_.wires[i];
        Server& server = servers_[wire.to];
        if (wire.open() && !server.up) wire.cut("Connection refused");
        if (wire.open() && accepted_.insert(&wire).second) wire.accept();
        if (wire.open()) serve(wire, server);
      }
    }
  }
  void serve(redis::FakeNetwork::Wire& wire, Server& server) {
    redis::RespParser commands;
    commands.feed(wire.take_sent());
    while (commands.next() == redis::RespParser::Status::kReply && wire.open()) {
      const std::string_view name = commands.reply()[1].bytes;
      if (name == "CLIENT") {
        wire.say("+OK\r\n");
      } else if (name == "SCRIPT") {
        wire.say("$4\r\n5ba1\r\n");
      } else if (name != "CLUSTER") {
        ++server.checks;
        wire.say(answer());
      } else if (commands.reply()[2].bytes == "NODES") {
        wire.say(server.nodes);
      } else {
        ++server.asked;
        wire.say(server.map);
      }
    }
  }

  // One master with all slots, and perhaps its replica. Ids are the hosts.
  static std::string map_of(const std::string& master, int port, const std::string& replica = "",
                            int replica_port = 0) {
    const auto node = [](const std::string& host, int at) {
      return "*3\r\n$1\r\n" + host + "\r\n:" + std::to_string(at) + "\r\n$1\r\n" + host + "\r\n";
    };
    return "*1\r\n*" + std::string(replica.empty() ? "3" : "4") + "\r\n:0\r\n:16383\r\n" +
           node(master, port) + (replica.empty() ? "" : node(replica, replica_port));
  }
  static std::string nodes_of(const std::string& self, const std::map<std::string, int>& epochs) {
    std::string text;
    for (const auto& [id, epoch] : epochs)
      text += id + " 10.0.0.1:1@2 " + (id == self ? "myself," : "") + "master - 0 0 " +
              std::to_string(epoch) + " connected\n";
    return "$" + std::to_string(text.size()) + "\r\n" + text + "\r\n";
  }

  // A is the master, D its replica.
  void begin() {
    servers_[kA] = {.map = map_of("a", 7000, "d", 7003), .nodes = nodes_of("a", {{"a", 1}, {"d", 1}})};
    servers_[kD] = {.map = servers_[kA].map, .nodes = nodes_of("d", {{"a", 1}, {"d", 1}})};
    make_store();
    play(kSecond);
    ASSERT_TRUE(store_->health().connected);
  }
  void take_over() {
    servers_[kD].map = map_of("d", 7003);
    servers_[kD].nodes = nodes_of("d", {{"a", 1}, {"d", 7}});
  }
  // The node that decides a check.
  std::string decides() {
    for (auto& [place, server] : servers_) server.checks = 0;
    const auto asked = call_on(kA, 50'000);
    if (!store_->start(*asked)) {
      play(100'000);
      EXPECT_EQ(asked->times_done, 1);
    }
    for (const auto& [place, server] : servers_)
      if (server.checks > 0) return place;
    return "nobody";
  }

  std::map<std::string, Server> servers_;
  std::set<const redis::FakeNetwork::Wire*> accepted_;
};

TEST_F(ClusterEpochsTest, AMasterThatDoesNotKnowThatItWasReplacedIsLeft) {
  begin();
  EXPECT_EQ(decides(), kA);
  take_over();
  play(11 * kSecond);
  EXPECT_EQ(decides(), kD) << "its replica is asked every ten seconds";
  const int asked = servers_[kA].asked;
  for (int i = 0; i < 20; ++i) {
    play(3 * kSecond);
    ASSERT_EQ(decides(), kD) << "whatever the old master says";
  }
  EXPECT_GT(servers_[kA].asked, asked) << "it is a seed";
}

TEST_F(ClusterEpochsTest, ANodeThatStartsDoesNotStayWithSuchAMaster) {
  servers_[kA] = {.map = map_of("a", 7000, "d", 7003), .nodes = nodes_of("a", {{"a", 1}, {"d", 1}})};
  take_over();
  make_store();
  play(kSecond);
  EXPECT_EQ(decides(), kD) << "the replicas of the first map are asked at once";
}

TEST_F(ClusterEpochsTest, WhileTheNewMasterIsDownTheOldOneIsNotAsked) {
  begin();
  take_over();
  play(11 * kSecond);
  ASSERT_EQ(decides(), kD);
  servers_[kD].up = false;
  for (int i = 0; i < 20; ++i) {
    play(3 * kSecond);
    ASSERT_EQ(decides(), "nobody") << "the failure rule decides";
  }
  servers_[kD].up = true;
  play(3 * kSecond);
  EXPECT_EQ(decides(), kD);
}

TEST_F(ClusterEpochsTest, TheNewMasterCountsEvenIfItCannotBeReached) {
  begin();
  options_.seeds.push_back({.host = "c", .port = 7002});
  take_over();
  servers_[kC] = {.map = servers_[kD].map, .nodes = nodes_of("c", {{"a", 1}, {"c", 2}, {"d", 7}})};
  servers_[kD].up = false;
  accepted_.clear();
  make_store();
  play(20 * kSecond);
  EXPECT_EQ(decides(), "nobody");
}

TEST_F(ClusterEpochsTest, AnOwnerMayGiveItsSlotsToANodeWithALowerEpoch) {
  begin();
  take_over();
  play(11 * kSecond);
  ASSERT_EQ(decides(), kD);
  servers_[kD].map = servers_[kA].map = map_of("a", 7000);  // an operator has used SETSLOT
  play(21 * kSecond);
  EXPECT_EQ(decides(), kA);
}

TEST_F(ClusterEpochsTest, ANewClusterInThePlaceOfTheOldOneCountsFromTheStart) {
  begin();
  take_over();
  play(11 * kSecond);
  ASSERT_EQ(decides(), kD);
  servers_[kD].up = false;  // for good
  servers_[kA] = {.map = "*1\r\n*3\r\n:0\r\n:16383\r\n*3\r\n$1\r\na\r\n:7000\r\n$3\r\nnew\r\n",
                  .nodes = nodes_of("new", {{"new", 1}})};
  play(5 * kSecond);
  EXPECT_EQ(decides(), kA) << "it knows nothing of D, so its epochs mean something else";
}

// The address of a replica may belong to another cluster by now.
TEST_F(ClusterEpochsTest, AnotherClusterIsIgnored) {
  begin();
  servers_[kD] = {.map = map_of("d", 7003), .nodes = nodes_of("d", {{"d", 99}, {"e", 98}})};
  play(31 * kSecond);
  EXPECT_GT(servers_[kD].asked, 1);
  EXPECT_EQ(decides(), kA);
}

TEST_F(ClusterEpochsTest, AUserWhoMayNotAskForEpochsIsToldWhatThatCosts) {
  begin();
  const std::string refused = "-NOPERM this user has no permissions to run the 'cluster|nodes' command\r\n";
  const std::string nodes = servers_[kA].nodes;
  servers_[kA].nodes = servers_[kD].nodes = refused;
  play(11 * kSecond);
  EXPECT_EQ(decides(), kA);
  EXPECT_TRUE(store_->health().connected);
  EXPECT_THAT(store_->health().problems, testing::ElementsAre(HasSubstr("grant +cluster|nodes")));
  servers_[kA].nodes = nodes;
  play(11 * kSecond);
  EXPECT_THAT(store_->health().problems, testing::IsEmpty());
}

// Slots go back and forth, and every node hears of it at its own time.
TEST_F(ClusterEpochsTest, TheNewestOfManyViewsWins) {
  begin();
  for (int epoch = 2; epoch < 12; ++epoch) {
    const bool to_d = epoch % 2 == 0;
    const std::string &winner = to_d ? kD : kA, &loser = to_d ? kA : kD;
    const std::map<std::string, int> epochs = {{"a", to_d ? epoch - 1 : epoch},
                                               {"d", to_d ? epoch : epoch - 1}};
    servers_[winner].map = to_d ? map_of("d", 7003, "a", 7000) : map_of("a", 7000, "d", 7003);
    servers_[winner].nodes = nodes_of(to_d ? "d" : "a", epochs);
    play(22 * kSecond);
    EXPECT_EQ(decides(), winner) << loser << " still says that it is the master";
  }
}

}  // namespace
}  // namespace sluice

#include "store/redis/replica/replica_looks.h"

#include <gmock/gmock.h>

#include "redis/testing/fake_network.h"
#include "store/redis/replica/replica_reading_store.h"
#include "store/redis/testing/call.h"

namespace sluice {
namespace {

using testing::HasSubstr;
using testing::Not;

// A master and its replica, both played by the test.
class ReplicaLooksTest : public testing::Test {
 protected:
  static constexpr std::int64_t kSecond = 1'000'000;
  static constexpr const char* kInfo = "*2\r\n$4\r\nINFO\r\n$11\r\nreplication\r\n";

  void SetUp() override {
    RedisBackendOptions master, replica;
    master.connection.script = replica.connection.script = "return 1";
    master.connection.address = {.host = "master", .port = 1};
    replica.connection.address = {.host = "replica", .port = 2};
    replica.breaker.failures_in_a_row = 1;
    replica.connection.reads_replica = in_cluster_;
    store_ = std::make_unique<ReplicaReadingStore>(network_, clock_, params_, master, replica,
                                                   [](std::uint64_t below) { return below / 2; });
    pass(0);
    log_in("master:1");
    log_in("replica:2");
    EXPECT_FALSE(by_replica(look())) << "nobody knows yet how far it is";
    master_wire().say(answer());
  }
  redis::FakeNetwork::Wire& wire(std::string_view to) {
    for (auto each = network_.wires.rbegin(); each != network_.wires.rend(); ++each)
      if ((*each)->to == to) return **each;
    ADD_FAILURE() << "nobody called " << to;
    return *network_.wires.front();
  }
  redis::FakeNetwork::Wire& master_wire() { return wire("master:1"); }
  redis::FakeNetwork::Wire& replica_wire() { return wire("replica:2"); }
  void log_in(std::string_view to) {
    wire(to).accept();
    const bool reads_replica = wire(to).take_sent().contains("$8\r\nREADONLY\r\n");
    EXPECT_EQ(reads_replica, in_cluster_ && to == "replica:2");
    wire(to).say(std::string("+OK\r\n") + (reads_replica ? "+OK\r\n" : "") + "$4\r\n5ba1\r\n");
  }
  void pass(std::int64_t us) {
    clock_.advance(us);
    store_->tick(clock_.now_us());
  }

  static std::string bulk(const std::string& text) {
    std::string bytes;
    redis::append_bulk(bytes, text);
    return bytes;
  }
  static std::string master_at(int offset) {
    return bulk("role:master\r\nmaster_replid:h\r\nmaster_repl_offset:" + std::to_string(offset) + "\r\n");
  }
  static std::string replica_at(int offset) {
    return bulk("role:slave\r\nmaster_link_status:up\r\nmaster_replid:h\r\nslave_repl_offset:" +
                std::to_string(offset) + "\r\n");
  }
  // Both are asked for their offsets.
  void compare(const std::string& master, const std::string& replica) {
    pass(400'000);
    EXPECT_EQ(master_wire().take_sent(), kInfo);
    master_wire().say(master);
    pass(0);
    EXPECT_EQ(replica_wire().take_sent(), kInfo);
    replica_wire().say(replica);
  }
  static std::string answer() { return "*3\r\n:1800000000000000\r\n$-1\r\n:1\r\n"; }

  // Calls live to the end of the test.
  TestCall& look(std::int64_t patience_us = 10'000) { return call(0, patience_us); }
  TestCall& call(std::int64_t cost, std::int64_t patience_us = 10'000) {
    return *calls_.emplace_back(std::make_unique<TestCall>(
        std::vector<Charge>{{.key = {0, 1}, .params = limit_, .cost = cost}}, clock_.now_us() + patience_us));
  }
  // Starts a call and returns whether it went to the replica, and not to the master.
  bool by_replica(TestCall& call) {
    EXPECT_FALSE(store_->start(call));
    const bool at_master = master_wire().take_sent().contains("EVALSHA");
    const bool at_replica = replica_wire().take_sent().contains("EVALSHA");
    EXPECT_NE(at_master, at_replica);
    return at_replica;
  }

  bool in_cluster_ = false;
  ManualClock clock_{1'700'000'000 * kSecond};
  ParamsTable params_;
  const ParamsId limit_ =
      params_.intern(make_limit_params(Algorithm::kGcra, {10, 60 * kSecond}, std::nullopt).value());
  redis::FakeNetwork network_;
  std::vector<std::unique_ptr<TestCall>> calls_;
  std::unique_ptr<ReplicaReadingStore> store_;
};

TEST_F(ReplicaLooksTest, AnUpToDateReplicaAnswersLooks) {
  compare(master_at(100), replica_at(100));
  TestCall& asked = look();
  EXPECT_TRUE(by_replica(asked));
  replica_wire().say(answer());
  EXPECT_EQ(asked.times_done, 1);
  EXPECT_TRUE(asked.allowed());
  EXPECT_EQ(asked.remaining(), 10);
  EXPECT_EQ(asked.results_known, 1u);
  EXPECT_EQ(store_->looks().stats().answered, 1u);
}

TEST_F(ReplicaLooksTest, WhatChargesOrIsRememberedGoesToTheMaster) {
  compare(master_at(100), replica_at(100));
  EXPECT_FALSE(by_replica(call(1)));
  master_wire().say(answer());
  TestCall& refund = call(0);
  refund.refund_of_us = 1;
  EXPECT_FALSE(by_replica(refund));
  master_wire().cut("enough");
  pass(20'000);
  log_in("master:1");
  TestCall& remembered = call(0);
  remembered.dedupe = Dedupe{{1, 2}, 3, kSecond};
  EXPECT_FALSE(by_replica(remembered));
}

TEST_F(ReplicaLooksTest, AReplicaThatIsBehindIsNotAsked) {
  compare(master_at(100), replica_at(99));
  EXPECT_FALSE(by_replica(look()));
  master_wire().say(answer());
  compare(master_at(200), replica_at(200));
  EXPECT_TRUE(by_replica(look()));
  replica_wire().say(answer());
  pass(kSecond + 1);  // there are no more answers
  EXPECT_FALSE(by_replica(look()));
}

TEST_F(ReplicaLooksTest, HalfOfTheTimeIsTheMasters) {
  compare(master_at(100), replica_at(100));
  TestCall& asked = look(10'000);
  EXPECT_TRUE(by_replica(asked));
  EXPECT_EQ(store_->next_due_us(), clock_.now_us() + 5'000);
  pass(4'999);
  EXPECT_THAT(master_wire().take_sent(), Not(HasSubstr("EVALSHA")));
  pass(1);
  EXPECT_THAT(master_wire().take_sent(), HasSubstr("EVALSHA"));
  EXPECT_EQ(asked.times_done, 0);
  master_wire().say(answer());
  EXPECT_TRUE(asked.allowed());
  replica_wire().say(answer());  // too late: ignored
  EXPECT_EQ(asked.times_done, 1);
  EXPECT_EQ(store_->looks().stats().passed_on, 1u);
}

TEST_F(ReplicaLooksTest, WhateverTheReplicaSaysTheMasterHasTheLastWord) {
  for (const char* reply :
       {"-LOADING Redis is loading the dataset in memory\r\n", "-MASTERDOWN Link with MASTER is down\r\n",
        "-READONLY You can't write against a read only replica.\r\n", "-NOPERM no\r\n", "+OK\r\n", ""}) {
    SCOPED_TRACE(reply);
    store_.reset();
    network_.wires.clear();
    SetUp();
    compare(master_at(100), replica_at(100));
    TestCall& asked = look();
    EXPECT_TRUE(by_replica(asked));
    if (*reply == '\0') {
      replica_wire().cut("Connection reset by peer");
    } else {
      replica_wire().say(reply);
    }
    EXPECT_THAT(master_wire().take_sent(), HasSubstr("EVALSHA"));
    master_wire().say(answer());
    EXPECT_TRUE(asked.allowed());
    EXPECT_FALSE(by_replica(look())) << "it has failed";
    EXPECT_TRUE(store_->health().connected) << "all that is needed is there";
  }
}

TEST_F(ReplicaLooksTest, AFailedReplicaIsProbedWithALook) {
  compare(master_at(100), replica_at(100));
  EXPECT_TRUE(by_replica(look()));
  replica_wire().say("-LOADING Redis is loading the dataset in memory\r\n");
  master_wire().say(answer());
  pass(kSecond);
  const std::string probe = replica_wire().take_sent();
  EXPECT_THAT(probe, HasSubstr("EVALSHA"));
  const std::string one_look("\1\0\1\0\1\0\1\0\0\0\0\0",
                             12);  // one entry, once, key 1, limit 1, free, cost 0
  EXPECT_THAT(probe, HasSubstr(one_look));
  replica_wire().say(answer());
  master_wire().take_sent();
  master_wire().say(master_at(300));
  pass(0);
  replica_wire().take_sent();
  replica_wire().say(replica_at(300));
  EXPECT_TRUE(by_replica(look()));
}

TEST_F(ReplicaLooksTest, AReplicaNobodyLooksAtIsLeftInPeace) {
  for (int i = 0; i < 20; ++i) {
    pass(500'000);
    for (auto* wire : {&master_wire(), &replica_wire()})
      if (wire->take_sent() == kInfo) wire->say(wire == &master_wire() ? master_at(1) : replica_at(1));
  }
  pass(500'000);
  EXPECT_EQ(master_wire().take_sent(), "");
}

TEST_F(ReplicaLooksTest, AUselessReplicaIsExchanged) {
  const std::size_t before = network_.wires.size();
  for (int i = 0; i < 12; ++i) {
    compare(master_at(100), replica_at(1));
    EXPECT_FALSE(by_replica(look()));
    master_wire().say(answer());
  }
  EXPECT_TRUE(replica_wire().open());
  pass(400'000);  // five seconds
  EXPECT_FALSE(replica_wire().open());
  pass(20'000);
  EXPECT_EQ(network_.wires.size(), before + 1) << "where it is now is asked again";
}

class ClusterReplicaLooksTest : public ReplicaLooksTest {
 protected:
  ClusterReplicaLooksTest() { in_cluster_ = true; }
};

TEST_F(ClusterReplicaLooksTest, AReplicaThatSendsUsAwayIsDoubted) {
  compare(master_at(100), replica_at(100));
  TestCall& asked = look();
  EXPECT_TRUE(by_replica(asked));
  replica_wire().say("-MOVED 0 other:3\r\n");
  EXPECT_THAT(master_wire().take_sent(), HasSubstr("EVALSHA"));
  master_wire().say(answer());
  EXPECT_TRUE(asked.allowed());
  EXPECT_FALSE(by_replica(look()));
}

}  // namespace
}  // namespace sluice

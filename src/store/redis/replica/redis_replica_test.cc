#include <gtest/gtest.h>

#include <algorithm>

#include "redis/sentinel/sentinel.h"
#include "redis/testing/sentinels.h"
#include "store/redis/replica/replica_reading_store.h"
#include "store/redis/testing/cluster_store_fixture.h"

namespace sluice {
namespace {

long scripts_run_on(const TestRedisServer& server) {
  return server.info("commandstats", "cmdstat_evalsha:calls=") +
         server.info("commandstats", "cmdstat_eval:calls=");
}

// Looks at replicas that real Sentinels watch.
class RedisSentinelReplicaTest : public LoopFixture {
 protected:
  void SetUp() override {
    ASSERT_EQ(access(TestRedisServer::kProgram, X_OK), 0) << "install Debian's redis-server";
    group_.start();
    store_ = std::make_unique<ReplicaReadingStore>(transport_, clock_, params_, options(false), options(true),
                                                   random());
    ASSERT_TRUE(run_until([&] { return store_->health().connected && group_.ready_to_fail_over(); }));
  }
  Store* driven() override { return store_.get(); }

  RedisBackendOptions options(bool replica) {
    redis::SentinelOptions sentinels{.session = {.master_name = "mymaster", .asks_for_replicas = replica}};
    for (const TestSentinel& each : group_.sentinels)
      sentinels.sentinels.push_back({.host = "127.0.0.1", .port = each.port()});
    RedisBackendOptions with;
    with.connection.source = std::make_shared<redis::Sentinel>(transport_, clock_, sentinels, random());
    with.connection.script = redis_script();
    return with;
  }
  Charge charge(std::int64_t cost) {
    return {.key = key("a"), .params = limit(Algorithm::kFixedWindow, 1000, 86'400 * kSecond), .cost = cost};
  }
  // The remaining units, if there is an answer.
  std::int64_t look() {
    TestCall call({charge(0)}, in_us(kSecond));
    return finish(call).allowed() ? call.remaining() : -1;
  }
  std::uint64_t looks_at_replica() const { return store_->looks().stats().answered; }
  // Sends looks, which must not fail, until the replica answers them.
  bool looks_until_replica_answers() {
    const std::uint64_t before = looks_at_replica();
    return run_until([&] {
      EXPECT_GE(look(), 0);
      return looks_at_replica() > before;
    });
  }

  TestSentinels group_;
  std::unique_ptr<ReplicaReadingStore> store_;
};

TEST_F(RedisSentinelReplicaTest, LooksGoToTheReplicaAndChargesDoNot) {
  ASSERT_TRUE(looks_until_replica_answers());
  const long charges_at_replica = scripts_run_on(group_.two), at_master = scripts_run_on(group_.one);
  for (int i = 0; i < 50; ++i) {
    TestCall call({charge(1)}, in_us(5 * kSecond));
    EXPECT_TRUE(finish(call).allowed());
  }
  EXPECT_EQ(scripts_run_on(group_.two), charges_at_replica);
  EXPECT_EQ(scripts_run_on(group_.one), at_master + 50);
  EXPECT_TRUE(run_until([&] { return look() == 950; })) << "soon";
  EXPECT_TRUE(looks_until_replica_answers());
  EXPECT_EQ(look(), 950);
  EXPECT_EQ(group_.two.info("errorstats", "errorstat_READONLY:count="), 0) << "nothing wrote";
}

TEST_F(RedisSentinelReplicaTest, WithoutAReplicaTheMasterAnswers) {
  ASSERT_TRUE(looks_until_replica_answers());
  group_.two.freeze();
  for (int i = 0; i < 20; ++i) EXPECT_EQ(look(), 1000) << "silent";
  group_.two.thaw();
  group_.two.kill();
  for (int i = 0; i < 20; ++i) EXPECT_EQ(look(), 1000) << "gone";
  group_.two.start();
  EXPECT_TRUE(looks_until_replica_answers()) << "it is back";
}

TEST_F(RedisSentinelReplicaTest, AReplicaThatLagsIsNotAsked) {
  ASSERT_TRUE(looks_until_replica_answers());
  // Its master does not exist; it still answers, with the data it has.
  group_.two.ask({"REPLICAOF", "127.0.0.1", std::to_string(free_test_port())});
  TestCall charged({charge(10)}, in_us(5 * kSecond));
  EXPECT_TRUE(finish(charged).allowed());
  run_for(1'100'000);
  for (int i = 0; i < 20; ++i) EXPECT_EQ(look(), 990);
}

TEST_F(RedisSentinelReplicaTest, AfterAFailoverTheNewReplicaIsFound) {
  ASSERT_TRUE(looks_until_replica_answers());
  group_.fail_over(group_.sentinels[0]);
  ASSERT_TRUE(run_until([&] { return group_.two.ask({"ROLE"}) == "master"; }));
  ASSERT_TRUE(run_until([&] { return look() >= 0; })) << "the master is found again";
  const long before = scripts_run_on(group_.one);
  EXPECT_TRUE(run_until(
      [&] {
        look();
        return scripts_run_on(group_.one) > before && group_.one.ask({"ROLE"}) == "slave";
      },
      60 * kSecond));
}

// Looks at the replicas of a real Cluster.
class RedisClusterReplicaTest : public ClusterStoreFixture {
 protected:
  RedisClusterReplicaTest() : ClusterStoreFixture(1) {}

  void SetUp() override {
    ClusterStoreFixture::SetUp();
    if (HasFatalFailure()) return;
    // A node names a replica once it has seen that replicate something.
    ASSERT_TRUE(run_until([&] {
      for (std::size_t i = 0; i < 3; ++i)
        if (!names_replicas(cluster_.node(i))) return false;
      return true;
    }));
    ClusterStoreOptions with = options();
    with.looks_at_replicas = true;
    make_connected_store(with);
  }
  bool names_replicas(const TestRedisServer& node) const {
    const std::string_view slots[] = {"CLUSTER", "SLOTS"};
    const std::vector<std::string> named = node.ask_all(slots);
    for (std::size_t i = 3; i < 6; ++i)
      if (std::ranges::find(named, std::to_string(cluster_.node(i).port())) == named.end()) return false;
    return true;
  }
  std::uint64_t looks_at_replicas() const { return store_->look_stats().answered; }
  // On three slots, one of each master.
  std::vector<Charge> charges(std::int64_t cost) {
    std::vector<Charge> all;
    for (std::size_t i = 0; i < 3; ++i) all.push_back(charge("counter", tag_on(i), cost, 1000));
    return all;
  }
  bool looks_until_replicas_answer(std::size_t replicas) {
    return run_until([&] {
      const std::uint64_t before = looks_at_replicas();
      TestCall look(charges(0), in_us(5 * kSecond));
      EXPECT_TRUE(finish(look).allowed());
      return looks_at_replicas() == before + replicas;
    });
  }
};

TEST_F(RedisClusterReplicaTest, LooksGoToReplicasAndChargesDoNot) {
  ASSERT_TRUE(looks_until_replicas_answer(3)) << "a split look, a replica of each";
  long before = 0, after = 0;
  for (std::size_t i = 3; i < 6; ++i) before += scripts_run_on(cluster_.node(i));
  for (int i = 0; i < 20; ++i) {
    TestCall call(charges(1), in_us(5 * kSecond));
    EXPECT_TRUE(finish(call).allowed());
  }
  for (std::size_t i = 3; i < 6; ++i) after += scripts_run_on(cluster_.node(i));
  EXPECT_EQ(after, before);
  EXPECT_TRUE(run_until([&] {
    TestCall look(charges(0), in_us(5 * kSecond));
    return finish(look).allowed() && look.remaining(0) == 980 && look.remaining(2) == 980;
  }));
  EXPECT_TRUE(looks_until_replicas_answer(3));
}

TEST_F(RedisClusterReplicaTest, WithoutAReplicaItsMasterAnswers) {
  ASSERT_TRUE(looks_until_replicas_answer(3));
  cluster_.node(3).freeze();
  for (int i = 0; i < 20; ++i) {
    TestCall look(charges(0), in_us(5 * kSecond));
    EXPECT_TRUE(finish(look).allowed());
  }
  cluster_.node(3).thaw();
  cluster_.node(3).kill();
  EXPECT_TRUE(looks_until_replicas_answer(2));
  cluster_.node(3).start();
  EXPECT_TRUE(looks_until_replicas_answer(3));
}

TEST_F(RedisClusterReplicaTest, APromotedReplicaIsAskedAsTheMasterItIs) {
  ASSERT_TRUE(looks_until_replicas_answer(3));
  cluster_.node(0).kill();
  EXPECT_TRUE(run_until(
      [&] {
        TestCall call({charge("after", tag_on(0))}, in_us(100'000));
        return finish(call).allowed();
      },
      60 * kSecond));
  EXPECT_TRUE(looks_until_replicas_answer(2)) << "the first has none any more";
}

}  // namespace
}  // namespace sluice

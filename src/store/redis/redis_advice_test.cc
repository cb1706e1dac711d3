#include <gmock/gmock.h>

#include "store/redis/testing/redis_load_fixture.h"

namespace sluice {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// What real servers report about themselves.
class RedisAdviceTest : public RedisLoadFixture {
 protected:
  RedisBackendOptions asking(const TestRedisServer& server) {
    RedisBackendOptions with = options(server);
    with.advise_every_us = 20'000;
    with.on_advice = [this](const auto& advice) { heard_ = advice; };
    return with;
  }
  // Runs until a sentence with these words appears, or has disappeared.
  bool run_until_advice(bool is_there, std::string_view words) {
    return run_until([&] {
      return is_there == std::ranges::any_of(heard_, [&](const auto& each) { return each.contains(words); });
    });
  }

  std::vector<std::string> heard_;
};

TEST_F(RedisAdviceTest, AnEvictingServerIsToldOfUntilItIsSetRight) {
  TestRedisServer server({"--maxmemory", "100mb", "--maxmemory-policy", "volatile-lru"});
  server.start();
  make_connected_store(asking(server));
  EXPECT_TRUE(run_until_advice(true, "maxmemory-policy is volatile-lru"));
  EXPECT_TRUE(store_->health().connected);
  EXPECT_THAT(store_->health().problems,
              ElementsAre(HasSubstr(std::to_string(server.port()) + ": maxmemory-policy is volatile-lru")));
  server.ask({"CONFIG", "SET", "maxmemory-policy", "noeviction"});
  EXPECT_TRUE(run_until_advice(false, "maxmemory-policy"));
  EXPECT_THAT(store_->health().problems, IsEmpty());
}

TEST_F(RedisAdviceTest, ANodeThatNeedsAllSlotsIsToldOfUntilItIsSetRight) {
  TestRedisServer server({"--cluster-enabled", "yes", "--cluster-port", std::to_string(free_test_port())});
  server.start();
  make_store(asking(server));
  EXPECT_TRUE(run_until_advice(true, "cluster-require-full-coverage is yes"));
  server.ask({"CONFIG", "SET", "cluster-require-full-coverage", "no"});
  EXPECT_TRUE(run_until_advice(false, "cluster-require-full-coverage"));
}

TEST_F(RedisAdviceTest, AReplicaThatIsNotInStepIsToldOfUntilItIs) {
  TestRedisServer master({"--repl-diskless-sync-delay", "1"});
  TestRedisServer replica({"--replicaof", "127.0.0.1", std::to_string(master.port())});
  master.start();
  make_connected_store(asking(master));
  replica.start();
  EXPECT_TRUE(
      run_until_advice(true, "its replica 127.0.0.1:" + std::to_string(replica.port()) + " lags behind"));
  EXPECT_TRUE(run_until_advice(false, "its replica"));
}

TEST_F(RedisAdviceTest, AUserWhoMayNotAskGetsNoneAndWorks) {
  TestRedisServer server({"--maxmemory", "100mb", "--maxmemory-policy", "allkeys-lru"});
  server.start();
  server.ask({"ACL", "SETUSER", "ann", "on", ">secret", "~*", "&*", "+@all", "-info", "-config"});
  RedisBackendOptions with = asking(server);
  with.connection.address.user = "ann";
  with.connection.address.password = "secret";
  make_connected_store(with);
  load_for(200'000, 5 * kSecond);
  settle();
  EXPECT_EQ(charged(), allowed_);
  EXPECT_EQ(unanswered_, 0);
  EXPECT_GT(server.info("errorstats", "errorstat_NOPERM:count="), 2);
  EXPECT_THAT(heard_, IsEmpty());
  EXPECT_THAT(store_->health().problems, IsEmpty());
}

TEST_F(RedisAdviceTest, ClocksAreCompared) {
  TestRedisServer server;
  server.start();
  WallClock wall;
  RedisBackendOptions with = asking(server);
  with.wall_clock = &wall;
  make_connected_store(with);
  EXPECT_FALSE(store_->backend().clock_delta());
  load_for(50'000, 5 * kSecond);
  settle();
  ASSERT_TRUE(store_->backend().clock_delta());
  EXPECT_FALSE(store_->backend().clock_delta()->beyond(0)) << "it is the same clock";
  ManualClock slow(wall.now_us() - 5 * kSecond);
  with.wall_clock = &slow;
  make_connected_store(with);
  load_for(50'000, 5 * kSecond);
  settle();
  EXPECT_TRUE(run_until_advice(true, "its clock is more than 1 s ahead of ours"));
  EXPECT_GE(store_->backend().clock_delta()->ahead_us, 5 * kSecond);
}

}  // namespace
}  // namespace sluice

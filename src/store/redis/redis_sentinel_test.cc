#include <gmock/gmock.h>

#include "redis/sentinel/sentinel.h"
#include "redis/testing/sentinels.h"
#include "store/redis/testing/redis_load_fixture.h"

namespace sluice {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// A RedisStore that finds its server through real Sentinels, with load.
class RedisSentinelTest : public RedisLoadFixture {
 protected:
  redis::SentinelOptions sentinel_options() const {
    redis::SentinelOptions with{.session = {.master_name = "mymaster"}};
    for (const TestSentinel& each : group_.sentinels)
      with.sentinels.push_back({.host = "127.0.0.1", .port = each.port()});
    return with;
  }
  RedisBackendOptions options_with(const redis::SentinelOptions& sentinels) {
    RedisBackendOptions with;
    with.connection.source =
        std::make_shared<redis::Sentinel>(transport_, clock_, sentinels, [this](std::uint64_t below) {
          return std::uniform_int_distribution<std::uint64_t>(0, below - 1)(random_);
        });
    with.connection.script = redis_script();
    with.operation_timeout_us = 100'000;
    return with;
  }
  void start_all() {
    group_.start();
    make_connected_store(options_with(sentinel_options()));
    ASSERT_TRUE(run_until([&] { return group_.ready_to_fail_over(); }))
        << "Sentinels and replica are in order";
    ASSERT_TRUE(uses(group_.one));
  }
  // Whether our connection goes to this server.
  static bool uses(const TestRedisServer& server) {
    return server.ask({"CLIENT", "LIST"}).contains("name=sluice ");
  }
  bool load_until_used(const TestRedisServer& server) {
    const std::int64_t end_us = in_us(30 * kSecond);
    while (!uses(server) && clock_.now_us() < end_us) load_for(20'000);
    return uses(server) && load_until_allowed(10 * kSecond);
  }
  static long charges_on(const TestRedisServer& server) {
    return server.info("commandstats", "cmdstat_evalsha:calls=") +
           server.info("commandstats", "cmdstat_eval:calls=");
  }
  // From now on everything that is admitted is charged on the current server.
  void expect_exact_from_now_on() {
    settle();
    const std::int64_t charged_before = charged(), allowed_before = allowed_;
    load_for(500'000, 5 * kSecond);
    settle();
    EXPECT_EQ(charged() - charged_before, allowed_ - allowed_before);
    EXPECT_GT(allowed_, allowed_before);
  }

  TestSentinels group_;
};

TEST_F(RedisSentinelTest, FollowsAFailoverByCommand) {
  start_all();
  load_for(200'000);
  EXPECT_GT(allowed_, 0);
  group_.fail_over(group_.sentinels[2]);
  EXPECT_TRUE(load_until_used(group_.two));
  const long old = charges_on(group_.one);
  expect_exact_from_now_on();
  EXPECT_EQ(charges_on(group_.one), old);
  EXPECT_TRUE(store_->health().connected);
}

TEST_F(RedisSentinelTest, FollowsWhenTheMasterIsKilled) {
  start_all();
  load_for(200'000);
  group_.one.kill();
  EXPECT_TRUE(load_until_used(group_.two));
  expect_exact_from_now_on();
}

TEST_F(RedisSentinelTest, AMasterFrozenThroughAFailoverGetsNoMoreWrites) {
  start_all();
  load_for(200'000);
  group_.one.freeze();
  EXPECT_TRUE(load_until_used(group_.two));
  group_.one.thaw();
  load_for(kSecond);  // what we had sent before it froze is still in its socket
  const long old = charges_on(group_.one);
  EXPECT_FALSE(uses(group_.one));
  load_for(3 * kSecond);
  expect_exact_from_now_on();
  EXPECT_EQ(charges_on(group_.one), old);
}

TEST_F(RedisSentinelTest, AMasterFrozenWhileNobodyAskedIsLeftToo) {
  start_all();
  group_.one.freeze();
  EXPECT_TRUE(run_until([&] { return uses(group_.two); })) << "by what the Sentinel said";
  group_.one.thaw();
  load_for(500'000);
  EXPECT_FALSE(uses(group_.one));
  EXPECT_EQ(charges_on(group_.one), 0);
  expect_exact_from_now_on();
}

TEST_F(RedisSentinelTest, TheDeathOfTheSentinelItListensToIsNoTrouble) {
  start_all();
  group_.sentinels[0].kill();
  run_for(50'000);
  group_.fail_over(group_.sentinels[1]);
  EXPECT_TRUE(run_until([&] { return uses(group_.two); }));
  expect_exact_from_now_on();
}

TEST_F(RedisSentinelTest, ASilentSentinelIsPassedOver) {
  group_.start();
  group_.sentinels[0].freeze();
  make_connected_store(options_with(sentinel_options()));
  expect_exact_from_now_on();
  group_.sentinels[0].thaw();
}

TEST_F(RedisSentinelTest, SaysWhatIsWrong) {
  group_.start();
  redis::SentinelOptions with = sentinel_options();
  with.session.master_name = "yourmaster";
  make_store(options_with(with));
  EXPECT_TRUE(run_until([&] {
    return store_->health().problems.front() ==
           "Redis at master yourmaster: not connected (no Sentinel knows a master named yourmaster)";
  }));
  with.sentinels = {{.host = "127.0.0.1", .port = group_.one.port()}};
  make_store(options_with(with));
  EXPECT_TRUE(run_until([&] {
    return store_->health().problems.front().contains(
        "no Sentinel answers: 127.0.0.1:" + std::to_string(group_.one.port()) +
        ": ERR unknown command 'SENTINEL'");
  }));
}

TEST_F(RedisSentinelTest, LogsInToTheSentinelAndToTheMaster) {
  TestRedisServer master({"--requirepass", "secret"});
  TestSentinel sentinel;
  master.start();
  sentinel.start("requirepass hush\nsentinel monitor mymaster 127.0.0.1 " + std::to_string(master.port()) +
                 " 1\nsentinel auth-pass mymaster secret\n");
  redis::SentinelOptions with{
      .sentinels = {{.host = "127.0.0.1", .port = sentinel.port(), .password = "hush"}},
      .master = {.password = "secret"},
      .session = {.master_name = "mymaster"}};
  make_connected_store(options_with(with));
  load_for(50'000, 5 * kSecond);
  settle();
  EXPECT_GT(allowed_, 0);
  with.sentinels[0].password = "wrong";
  make_store(options_with(with));
  EXPECT_TRUE(run_until([&] { return store_->health().problems.front().contains("WRONGPASS"); }));
  EXPECT_THAT(store_->health().problems, ElementsAre(testing::Not(HasSubstr("secret"))));
}

}  // namespace
}  // namespace sluice

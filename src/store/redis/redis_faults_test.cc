#include <gmock/gmock.h>

#include "store/redis/testing/redis_load_fixture.h"

namespace sluice {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class RedisFaultsTest : public RedisLoadFixture {
 protected:
  RedisBackendOptions quick_options() const {
    RedisBackendOptions with = options(server_);
    with.operation_timeout_us = 50'000;
    return with;
  }

  TestRedisServer server_;
};

TEST_F(RedisFaultsTest, FlushedScriptsAreNotNoticed) {
  server_.start();
  make_connected_store(options(server_));
  for (int i = 0; i < 10; ++i) {
    server_.ask({"SCRIPT", "FLUSH"});
    load_for(20'000, 5 * kSecond);
  }
  settle();
  EXPECT_GT(store_->stats().scripts_reloaded, 0u);
  EXPECT_EQ(unanswered_, 0);
  EXPECT_EQ(charged(), allowed_);
}

TEST_F(RedisFaultsTest, AKilledServerIsMissedAndFoundAgain) {
  server_.start();
  make_connected_store(quick_options());
  load_for(100'000);
  server_.kill();
  load_for(500'000);
  EXPECT_EQ(store_->backend().breaker_state(), redis::Breaker::State::kOpen);
  EXPECT_FALSE(store_->health().connected);
  EXPECT_THAT(store_->health().problems, ElementsAre(HasSubstr("not connected (Connection refused)")));
  EXPECT_GT(unanswered_, 0);
  server_.start();
  EXPECT_TRUE(load_until_allowed(5 * kSecond));
  EXPECT_TRUE(store_->health().connected);
  EXPECT_TRUE(store_->health().problems.empty());
  settle();
}

TEST_F(RedisFaultsTest, AFrozenServerKeepsNobodyWaitingAndMixesNothingUp) {
  server_.start();
  make_connected_store(quick_options());
  load_for(100'000);
  server_.freeze();
  load_for(1'500'000);
  settle();
  EXPECT_GT(unanswered_, 0);
  server_.thaw();
  EXPECT_TRUE(load_until_allowed(5 * kSecond));
  load_for(200'000, kSecond);
  settle();
  const std::int64_t charged_now = charged();
  EXPECT_GE(charged_now, allowed_);
  EXPECT_LE(charged_now, allowed_ + unanswered_) << "what got no answer may have been charged, nothing else";
  EXPECT_EQ(store_->stats().contradictions, 0u);
}

TEST_F(RedisFaultsTest, ALateReplyFindsNobodyAndHarmsNobody) {
  server_.start();
  RedisBackendOptions patient = options(server_);  // the connection outlives the wait
  make_connected_store(patient);
  server_.freeze();
  for (int i = 0; i < 10; ++i) ask(20'000);
  settle();
  EXPECT_EQ(unanswered_, 10);
  server_.thaw();
  load_for(100'000, 5 * kSecond);
  settle();
  EXPECT_EQ(store_->stats().connections_made, 1u);
  const std::int64_t charged_now = charged();
  EXPECT_GE(charged_now, allowed_ + 1) << "the first batch was already on its way";
  EXPECT_LE(charged_now, allowed_ + 10);
}

TEST_F(RedisFaultsTest, AServerThatIsNotThereAtFirstIsFoundLater) {
  make_store(quick_options());
  EXPECT_THAT(store_->health().problems, ElementsAre(HasSubstr("not connected yet")));
  load_for(300'000);
  EXPECT_EQ(allowed_, 0);
  server_.start();
  EXPECT_TRUE(load_until_allowed(5 * kSecond));
  settle();
}

TEST_F(RedisFaultsTest, AWrongPasswordIsToldAndTriedRarely) {
  server_.start();
  server_.ask({"CONFIG", "SET", "requirepass", "right"});
  RedisBackendOptions with = quick_options();
  with.connection.address.password = "wrong";
  make_store(with);
  load_for(900'000);
  EXPECT_THAT(store_->health().problems, ElementsAre(HasSubstr("WRONGPASS")));
  EXPECT_THAT(store_->health().problems, ElementsAre(testing::Not(HasSubstr("\"wrong\""))));
  EXPECT_EQ(store_->stats().connections_lost, 1u);
  EXPECT_EQ(allowed_, 0);
  with.connection.address.password = "right";
  settle();
  make_connected_store(with);
  EXPECT_TRUE(load_until_allowed(kSecond));
  settle();
}

TEST_F(RedisFaultsTest, AServerWithoutMemoryHasNotFailed) {
  server_.start();
  make_connected_store(quick_options());
  server_.ask({"CONFIG", "SET", "maxmemory", "1"});
  load_for(300'000);
  EXPECT_EQ(store_->backend().breaker_state(), redis::Breaker::State::kClosed);
  EXPECT_THAT(store_->health().problems, ElementsAre(HasSubstr("the server has no memory left")));
  EXPECT_EQ(allowed_, 0);
  EXPECT_GT(store_->stats().no_room, 0u);
  server_.ask({"CONFIG", "SET", "maxmemory", "0"});
  EXPECT_TRUE(load_until_allowed(5 * kSecond));
  settle();
  EXPECT_EQ(charged(), allowed_);
}

TEST_F(RedisFaultsTest, AReplicaIsNotWrittenTo) {
  server_.start();
  make_connected_store(quick_options());
  server_.ask({"REPLICAOF", "127.0.0.1", "1"});
  load_for(300'000);
  EXPECT_EQ(allowed_, 0);
  EXPECT_GT(store_->stats().errors[static_cast<std::size_t>(redis::ServerError::kReadOnly)] +
                store_->stats().errors[static_cast<std::size_t>(redis::ServerError::kMasterDown)],
            0u);
  server_.ask({"REPLICAOF", "NO", "ONE"});
  EXPECT_TRUE(load_until_allowed(5 * kSecond));
  settle();
}

TEST_F(RedisFaultsTest, CutConnectionsChargeARequestIdOnce) {
  server_.start();
  RedisBackendOptions patient = options(server_);
  patient.breaker.failures_per_mille = 1000;
  patient.operation_timeout_us = 10 * kSecond;  // a machine that stands still is not a cut connection
  make_connected_store(patient);
  with_request_ids_ = true;
  for (int i = 0; i < 30; ++i) {
    // A call is sent at most twice: all calls hit by the last cut must be done before the next one.
    settle();
    EXPECT_TRUE(run_until([&] { return store_->health().connected; }));
    const std::uint64_t lost_before = store_->stats().connections_lost;
    load_for(10'000, 20 * kSecond);
    server_.ask({"CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes"});
    load_for(1, 20 * kSecond);  // into the lost connection
    EXPECT_TRUE(run_until([&] { return store_->stats().connections_lost > lost_before; }));
  }
  settle();
  EXPECT_GT(store_->stats().connections_made, 5u);
  EXPECT_GT(store_->stats().sent_again, 0u);
  EXPECT_EQ(unanswered_, 0);
  EXPECT_EQ(allowed_, static_cast<std::int64_t>(last_id_));
  EXPECT_EQ(charged(), allowed_);
}

TEST_F(RedisFaultsTest, AgedConnectionsAreReplacedAndNobodyNotices) {
  server_.start();
  RedisBackendOptions with = options(server_);
  with.connection.max_age_us = 50'000;
  make_connected_store(with);
  load_for(kSecond, 20 * kSecond);
  settle();
  EXPECT_GT(store_->stats().connections_made, 5u);
  EXPECT_EQ(store_->stats().connections_lost, 0u);
  EXPECT_EQ(unanswered_, 0);
  EXPECT_EQ(charged(), allowed_);
}

TEST_F(RedisFaultsTest, AServerThatFreezesWhileNobodyAsksIsFoundOut) {
  server_.start();
  RedisBackendOptions with = options(server_);
  with.connection.idle_check_us = 100'000;
  with.connection.idle_reply_us = 200'000;
  make_connected_store(with);
  run_for(500'000);
  EXPECT_EQ(store_->stats().connections_lost, 0u) << "it answers when it is asked";
  server_.freeze();
  EXPECT_TRUE(run_until([&] { return !store_->health().connected; }));
  server_.thaw();
  EXPECT_TRUE(run_until([&] { return store_->health().connected; }));
}

TEST_F(RedisFaultsTest, EmptiedCountersStartAgain) {
  server_.start();
  make_connected_store(options(server_));
  load_for(50'000, 5 * kSecond);
  settle();
  server_.ask({"FLUSHALL"});
  EXPECT_EQ(charged(), 0);
}

}  // namespace
}  // namespace sluice

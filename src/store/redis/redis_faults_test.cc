#include <gmock/gmock.h>

#include "store/redis/redis_store_fixture.h"

namespace sluice {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// A steady stream of checks on one counter that never refills, each with its own deadline, and what became of
// them.
class RedisFaultsTest : public RedisStoreFixture {
 protected:
  static constexpr std::int64_t kLimit = 1'000'000;

  RedisStoreOptions quick_options() const {
    RedisStoreOptions with = options(server_);
    with.operation_timeout_us = 50'000;
    return with;
  }
  Charge charge() { return {key("counted"), limit(Algorithm::kFixedWindow, kLimit, 366 * 86'400 * kSecond)}; }

  // Starts one more call.
  void ask(std::int64_t patience_us) {
    auto call = std::make_unique<TestCall>(std::vector{charge()}, in_us(patience_us));
    if (with_request_ids_) call->dedupe = Dedupe{{7, ++last_id_}, 1, 600 * kSecond};
    if (store_->start(*call)) {
      note(*call);
    } else {
      calls_.push_back(std::move(call));
    }
  }
  void sweep() {
    std::erase_if(calls_, [&](const auto& call) {
      EXPECT_LE(call->times_done, 1);
      if (call->times_done == 0) {
        EXPECT_LT(clock_.now_us(), call->deadline_us + kSecond) << "somebody waits long after the deadline";
        return false;
      }
      note(*call);
      return true;
    });
  }
  void note(const TestCall& call) { ++(call.verdict == Verdict::kNoAnswer ? unanswered_ : allowed_); }

  void load_for(std::int64_t us, std::int64_t patience_us = 100'000) {
    const std::int64_t end_us = clock_.now_us() + us;
    while (clock_.now_us() < end_us) {
      for (int i = 0; i < 20; ++i) ask(patience_us);
      run_once();
      sweep();
    }
  }
  bool load_until_allowed(std::int64_t at_most_us) {
    const std::int64_t before = allowed_, end_us = clock_.now_us() + at_most_us;
    while (allowed_ == before && clock_.now_us() < end_us) load_for(10'000);
    return allowed_ > before;
  }
  void settle() {
    EXPECT_TRUE(run_until([&] {
      sweep();
      return calls_.empty();
    }));
  }
  std::int64_t charged() {
    const auto look = [&] {
      TestCall call({{charge().key, charge().params, 0}});
      return finish(call).allowed() ? kLimit - call.remaining() : -1;
    };
    std::int64_t units = look();
    while (units < 0 && !HasFailure()) {  // the connection may just be gone
      run_once();
      units = look();
    }
    return units;
  }

  TestRedisServer server_;
  std::vector<std::unique_ptr<TestCall>> calls_;
  std::int64_t allowed_ = 0, unanswered_ = 0;
  bool with_request_ids_ = false;
  std::uint64_t last_id_ = 0;
};

TEST_F(RedisFaultsTest, FlushedScriptsAreNotNoticed) {
  server_.start();
  make_connected_store(options(server_));
  for (int i = 0; i < 10; ++i) {
    server_.ask({"SCRIPT", "FLUSH"});
    load_for(20'000, 5 * kSecond);
  }
  settle();
  EXPECT_GT(store_->counters().scripts_reloaded, 0u);
  EXPECT_EQ(unanswered_, 0);
  EXPECT_EQ(charged(), allowed_);
}

TEST_F(RedisFaultsTest, AKilledServerIsMissedAndFoundAgain) {
  server_.start();
  make_connected_store(quick_options());
  load_for(100'000);
  server_.kill();
  load_for(500'000);
  EXPECT_EQ(store_->breaker_state(), redis::Breaker::State::kOpen);
  EXPECT_FALSE(store_->health().connected);
  EXPECT_THAT(store_->health().problems,
              ElementsAre(HasSubstr("there is no connection (Connection refused)")));
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
  EXPECT_EQ(store_->counters().contradictions, 0u);
}

TEST_F(RedisFaultsTest, ALateReplyFindsNobodyAndHarmsNobody) {
  server_.start();
  RedisStoreOptions patient = options(server_);  // the connection outlives the wait
  make_connected_store(patient);
  server_.freeze();
  for (int i = 0; i < 10; ++i) ask(20'000);
  settle();
  EXPECT_EQ(unanswered_, 10);
  server_.thaw();
  load_for(100'000, 5 * kSecond);
  settle();
  EXPECT_EQ(store_->counters().connections_made, 1u);
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
  RedisStoreOptions with = quick_options();
  with.connection.address.password = "wrong";
  make_store(with);
  load_for(900'000);
  EXPECT_THAT(store_->health().problems, ElementsAre(HasSubstr("WRONGPASS")));
  EXPECT_THAT(store_->health().problems, ElementsAre(testing::Not(HasSubstr("\"wrong\""))));
  EXPECT_EQ(store_->counters().connections_lost, 1u);
  EXPECT_EQ(allowed_, 0);
  with.connection.address.password = "right";
  settle();
  make_connected_store(with);
  EXPECT_TRUE(load_until_allowed(kSecond));
  settle();
}

TEST_F(RedisFaultsTest, AServerWithoutMemoryIsLeftAloneUntilItHasSome) {
  server_.start();
  make_connected_store(quick_options());
  server_.ask({"CONFIG", "SET", "maxmemory", "1"});
  load_for(300'000);
  EXPECT_EQ(store_->breaker_state(), redis::Breaker::State::kOpen);
  EXPECT_THAT(store_->health().problems, ElementsAre(HasSubstr("the server has no memory left")));
  EXPECT_EQ(allowed_, 0);
  EXPECT_EQ(store_->counters().errors[static_cast<std::size_t>(redis::ServerError::kOutOfMemory)],
            store_->counters().batches);
  server_.ask({"CONFIG", "SET", "maxmemory", "0"});
  EXPECT_TRUE(load_until_allowed(5 * kSecond)) << "by a probe of its own";
  settle();
  EXPECT_EQ(charged(), allowed_);
}

TEST_F(RedisFaultsTest, AReplicaIsNotWrittenTo) {
  server_.start();
  make_connected_store(quick_options());
  server_.ask({"REPLICAOF", "127.0.0.1", "1"});
  load_for(300'000);
  EXPECT_EQ(allowed_, 0);
  EXPECT_GT(store_->counters().errors[static_cast<std::size_t>(redis::ServerError::kReadOnly)] +
                store_->counters().errors[static_cast<std::size_t>(redis::ServerError::kMasterDown)],
            0u);
  server_.ask({"REPLICAOF", "NO", "ONE"});
  EXPECT_TRUE(load_until_allowed(5 * kSecond));
  settle();
}

TEST_F(RedisFaultsTest, CutConnectionsChargeARequestIdOnce) {
  server_.start();
  RedisStoreOptions patient = options(server_);
  patient.breaker.failures_per_mille = 1000;
  make_connected_store(patient);
  with_request_ids_ = true;
  for (int i = 0; i < 30; ++i) {
    load_for(10'000, 20 * kSecond);
    server_.ask({"CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes"});
  }
  settle();
  EXPECT_GT(store_->counters().connections_made, 5u);
  EXPECT_GT(store_->counters().sent_again, 0u);
  EXPECT_EQ(unanswered_, 0);
  EXPECT_EQ(allowed_, static_cast<std::int64_t>(last_id_));
  EXPECT_EQ(charged(), allowed_);
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

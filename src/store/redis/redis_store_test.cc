#include "store/redis/redis_store.h"

#include <gmock/gmock.h>

#include "algorithm/testing/every_algorithm.h"
#include "store/redis/testing/redis_store_fixture.h"

namespace sluice {
namespace {

using testing::HasSubstr;

class RedisStoreTest : public RedisStoreFixture {
 protected:
  void SetUp() override {
    RedisStoreFixture::SetUp();
    if (HasFatalFailure()) return;
    server_.start();
    make_connected_store(options(server_));
  }
  TestRedisServer server_;
};

TEST_F(RedisStoreTest, AllowsUpToTheLimitAndDeniesThen) {
  const Charge charge{key("a"), limit(Algorithm::kFixedWindow, 3, 86'400 * kSecond)};
  for (const int remaining : {2, 1, 0}) {
    TestCall call({charge});
    EXPECT_TRUE(finish(call).allowed());
    EXPECT_EQ(call.remaining(), remaining);
  }
  TestCall call({charge});
  EXPECT_EQ(finish(call).verdict, Verdict::kDenied);
  EXPECT_GT(call.results[0].outcome.retry_after_us, 0);
  EXPECT_GT(call.now_us, 1'700'000'000 * kSecond) << "the server's clock";
}

TEST_F(RedisStoreTest, ChargesAllOrNothing) {
  const ParamsId wide = limit(Algorithm::kGcra, 10, 86'400 * kSecond),
                 narrow = limit(Algorithm::kGcra, 1, 86'400 * kSecond);
  TestCall first({{key("wide"), wide}, {key("narrow"), narrow}});
  EXPECT_TRUE(finish(first).allowed());
  TestCall second({{key("wide"), wide}, {key("narrow"), narrow}});
  EXPECT_EQ(finish(second).verdict, Verdict::kDenied);
  EXPECT_EQ(second.remaining(0), 9) << "not charged";
  EXPECT_TRUE(second.results[0].outcome.allowed);
  EXPECT_FALSE(second.results[1].outcome.allowed);
}

TEST_F(RedisStoreTest, KnowsEveryAlgorithm) {
  for (const Algorithm algorithm : kEveryAlgorithm) {
    const Charge charge{key(to_string(algorithm)), limit(algorithm, 5, 86'400 * kSecond), 3};
    TestCall first({charge}), second({charge});
    EXPECT_TRUE(finish(first).allowed()) << to_string(algorithm);
    EXPECT_EQ(first.remaining(), 2) << to_string(algorithm);
    EXPECT_EQ(finish(second).verdict, Verdict::kDenied) << to_string(algorithm);
  }
  EXPECT_EQ(store_->stats().contradictions, 0u);
}

TEST_F(RedisStoreTest, CallsThatWaitGoTogetherAndEqualKeysAreOne) {
  const Charge charge{key("hot"), limit(Algorithm::kGcra, 150, 86'400 * kSecond)};
  const long calls_before = server_.info("commandstats", "cmdstat_evalsha:calls=");
  std::vector<std::unique_ptr<TestCall>> calls;
  for (int i = 0; i < 200; ++i) calls.push_back(std::make_unique<TestCall>(std::vector{charge}));
  for (const auto& call : calls) EXPECT_FALSE(store_->start(*call));
  EXPECT_TRUE(run_until([&] { return calls.back()->times_done == 1; }));
  EXPECT_LE(server_.info("commandstats", "cmdstat_evalsha:calls=") - calls_before, 3);
  EXPECT_LE(store_->stats().keys, 3u);
  std::vector<std::int64_t> remaining;
  for (const auto& call : calls) {
    EXPECT_EQ(call->times_done, 1);
    EXPECT_EQ(call->allowed(), remaining.size() < 150);
    if (call->allowed()) remaining.push_back(call->remaining());
  }
  ASSERT_EQ(remaining.size(), 150u);
  for (std::size_t i = 0; i < 150; ++i)
    EXPECT_EQ(remaining[i], static_cast<std::int64_t>(149 - i)) << "in order";
}

TEST_F(RedisStoreTest, AnIdleServerIsAskedAtOnce) {
  TestCall call({{key("a"), limit(Algorithm::kGcra, 10, kSecond)}});
  store_->start(call);
  EXPECT_EQ(store_->stats().batches, 1u);
  EXPECT_TRUE(run_until([&] { return call.times_done == 1; }));
}

TEST_F(RedisStoreTest, AnAnswerMayLeadToTheNextCall) {
  const Charge charge{key("chain"), limit(Algorithm::kGcra, 100, 86'400 * kSecond)};
  TestCall first({charge}), second({charge});
  first.when_done = [&] { EXPECT_FALSE(store_->start(second)); };
  finish(first);
  EXPECT_TRUE(run_until([&] { return second.times_done == 1; }));
  EXPECT_EQ(second.remaining(), 98);
}

TEST_F(RedisStoreTest, ARequestIdCountsOnce) {
  const Charge charge{key("a"), limit(Algorithm::kGcra, 10, 86'400 * kSecond), 4};
  const Dedupe id{key("request 1"), 77, 600 * kSecond};
  TestCall first({charge}), again({charge}), other({charge});
  first.dedupe = again.dedupe = other.dedupe = id;
  other.dedupe->fingerprint = 78;
  EXPECT_TRUE(finish(first).allowed());
  EXPECT_FALSE(first.replayed);
  EXPECT_TRUE(finish(again).allowed());
  EXPECT_TRUE(again.replayed);
  EXPECT_EQ(again.remaining(), 6);
  EXPECT_EQ(again.now_us, first.now_us);
  finish(other);
  EXPECT_TRUE(other.conflict);
  TestCall look({{charge.key, charge.params, 0}});
  EXPECT_EQ(finish(look).remaining(), 6);
}

// Another request with the same id may be about a counter that lives elsewhere.
TEST_F(RedisStoreTest, ARequestIdIsFoundWhateverCounterItIsAskedFor) {
  const ParamsId ten = limit(Algorithm::kGcra, 10, 86'400 * kSecond);
  TestCall first({{.key = key("a"), .params = ten, .slot_tag = 1}});
  TestCall other({{.key = key("b"), .params = ten, .slot_tag = 2}});
  TestCall look({{.key = key("b"), .params = ten, .cost = 0, .slot_tag = 2}});
  first.dedupe = Dedupe{key("once"), 1, 600 * kSecond, 3};
  other.dedupe = Dedupe{key("once"), 2, 600 * kSecond, 3};
  EXPECT_TRUE(finish(first).allowed());
  EXPECT_TRUE(finish(other).conflict);
  EXPECT_EQ(finish(look).remaining(), 10);
}

TEST_F(RedisStoreTest, ARequestIdCountsOnceWithinABatchToo) {
  const Charge charge{key("a"), limit(Algorithm::kGcra, 10, 86'400 * kSecond)};
  std::vector<std::unique_ptr<TestCall>> calls;
  for (int i = 0; i < 8; ++i) {
    calls.push_back(std::make_unique<TestCall>(std::vector{charge}));
    calls.back()->dedupe = Dedupe{key("request 1"), 77, 600 * kSecond};
  }
  for (const auto& call : calls) store_->start(*call);
  EXPECT_TRUE(run_until([&] { return calls.back()->times_done == 1; }));
  for (const auto& call : calls) EXPECT_EQ(call->remaining(), 9);
  TestCall look({{charge.key, charge.params, 0}});
  EXPECT_EQ(finish(look).remaining(), 9);
}

TEST_F(RedisStoreTest, ResetForgetsCounters) {
  const Charge charge{key("a"), limit(Algorithm::kGcra, 10, 86'400 * kSecond), 4};
  TestCall call({charge});
  finish(call);
  int existed = -2;
  const CounterName keys[] = {{key("a")}, {key("never used")}};
  store_->reset(keys, [&](int count) { existed = count; });
  EXPECT_TRUE(run_until([&] { return existed != -2; }));
  EXPECT_EQ(existed, 1);
  TestCall look({{charge.key, charge.params, 0}});
  EXPECT_EQ(finish(look).remaining(), 10);
}

TEST_F(RedisStoreTest, KeysAreShort) {
  TestCall call(
      {{.key = key("a"), .params = limit(Algorithm::kGcra, 10, 86'400 * kSecond), .slot_tag = 0x123456}});
  finish(call);
  const std::string name = server_.ask({"RANDOMKEY"});
  EXPECT_EQ(name.size(), 30u);
  EXPECT_THAT(name, testing::StartsWith("rl:{jRW}"));
  EXPECT_LE(std::atoi(server_.ask({"MEMORY", "USAGE", name}).c_str()), 100);
}

TEST_F(RedisStoreTest, AFullQueueIsAnsweredOnTheSpot) {
  RedisBackendOptions small = options(server_);
  small.queue_max = 2;
  make_store(small);  // not connected yet
  const Charge charge{key("a"), limit(Algorithm::kGcra, 10, kSecond)};
  TestCall first({charge}), second({charge}), third({charge});
  EXPECT_FALSE(store_->start(first));
  EXPECT_FALSE(store_->start(second));
  EXPECT_TRUE(store_->start(third));
  EXPECT_EQ(third.verdict, Verdict::kNoAnswer);
  EXPECT_EQ(store_->stats().queue_full, 1u);
  EXPECT_TRUE(run_until([&] { return second.times_done == 1; }));
  EXPECT_TRUE(second.allowed());
}

TEST_F(RedisStoreTest, WorksOverAUnixSocket) {
  RedisBackendOptions local = options(server_);
  local.connection.address = {.unix_path = server_.socket_path(), .database = 2};
  make_connected_store(local);
  TestCall call({{key("a"), limit(Algorithm::kGcra, 10, kSecond)}});
  EXPECT_TRUE(finish(call).allowed());
  EXPECT_THAT(server_.ask({"INFO", "keyspace"}), HasSubstr("db2:keys=1"));
}

TEST_F(RedisStoreTest, WorksByTheNameOfAHost) {
  RedisBackendOptions named = options(server_);
  named.connection.address.host = "localhost";
  make_connected_store(named);
  TestCall call({{key("a"), limit(Algorithm::kGcra, 10, kSecond)}});
  EXPECT_TRUE(finish(call).allowed());
}

}  // namespace
}  // namespace sluice

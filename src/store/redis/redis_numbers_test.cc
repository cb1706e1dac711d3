// Counters that are checked under changing numbers, on a real server.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "base/testing/seed.h"
#include "store/redis/script/wire.h"
#include "store/redis/testing/redis_store_fixture.h"
#include "store/testing/used_stays_used.h"

namespace sluice {
namespace {

class RedisNumbers : public RedisStoreFixture, public testing::WithParamInterface<Algorithm> {
 protected:
  static constexpr std::int64_t kDay = 86'400 * kSecond;

  void SetUp() override {
    RedisStoreFixture::SetUp();
    if (HasFatalFailure()) return;
    server_.start();
    RedisBackendOptions with = options(server_);
    with.decide_by = &time_;
    make_connected_store(with);
  }
  std::string value_of(const KeyHash& key) {
    std::string name;
    append_key(name, "rl:", 0, key);
    return server_.ask({"GET", name});
  }
  int admitted(ParamsId params, int asked) {
    int count = 0;
    for (int i = 0; i < asked; ++i) {
      TestCall call({{.key = key("a"), .params = params}});
      count += finish(call).allowed();
    }
    return count;
  }
  UsedStaysUsed::StoreUnderTest under_test() {
    return {.params = params_,
            .check =
                [&](const Charge& charge, ChargeResult& result) {
                  TestCall call({charge});
                  finish(call);
                  result = call.results[0];
                  return call.allowed();
                },
            .refund =
                [&](const Charge& charge, ChargeResult& result, std::int64_t granted_at_us) {
                  TestCall call({charge});
                  call.results[0] = result;
                  call.refund_of_us = granted_at_us;
                  finish(call);
                },
            .bytes = [&](const KeyHash& key) { return value_of(key); },
            .now_us = [&] { return time_.now_us(); },
            .advance = [&](std::int64_t us) { time_.advance(us); }};
  }

  TestRedisServer server_;
  ManualClock time_{1'800'000'000 * kSecond / kDay * kDay};
};

TEST_P(RedisNumbers, APolicyThatIsLoweredAndRaisedGivesNothingBack) {
  const ParamsId high = limit(GetParam(), 40, kDay), low = limit(GetParam(), 20, kDay);
  EXPECT_EQ(admitted(high, 50), 40);
  EXPECT_EQ(admitted(low, 3), 0);
  EXPECT_EQ(admitted(high, 3), 0);
}

// The bursts are equal, so that a moment looks alike under both.
TEST_P(RedisNumbers, ATierOfAnotherRateIsNotMisread) {
  if (GetParam() > Algorithm::kLeakyBucket) return;
  const auto tier = [&](std::int64_t count) {
    return params_.intern(make_limit_params(GetParam(), {count, kDay}, 10).value());
  };
  const ParamsId fast = tier(100), slow = tier(10);
  EXPECT_EQ(admitted(fast, 20), 10);
  EXPECT_EQ(admitted(slow, 20), 0);
}

// A tag of seven bits used to stand for the numbers; these two shared one.
TEST_P(RedisNumbers, NumbersOfAnotherPeriodAreNotMistaken) {
  const ParamsId day = limit(GetParam(), 10, kDay), second = limit(GetParam(), 2, kSecond);
  EXPECT_EQ(admitted(day, 20), 10);
  EXPECT_EQ(admitted(second, 5), 0);
  EXPECT_EQ(admitted(day, 5), 0);
  time_.advance(10 * kSecond);
  EXPECT_EQ(admitted(second, 5), 0);
  EXPECT_EQ(admitted(day, 5), 0);
}

TEST_P(RedisNumbers, WhatWasUsedStaysUsedWhateverComes) {
  const std::uint64_t seed = test_seed();
  SCOPED_TRACE("SLUICE_SEED=" + std::to_string(seed));
  UsedStaysUsed lives(under_test(), seed);
  for (int life = 0; life < 6 && !HasFailure(); ++life) lives.live(GetParam(), life % 3 == 2, 100);
  EXPECT_EQ(store_->stats().contradictions, 0u);
}

TEST_P(RedisNumbers, TiersOfAnyKindAddUpToNoMoreThanTheirBound) {
  const std::uint64_t seed = test_seed();
  SCOPED_TRACE("SLUICE_SEED=" + std::to_string(seed));
  UsedStaysUsed lives(under_test(), seed + static_cast<std::uint64_t>(GetParam()));
  for (int life = 0; life < 6 && !HasFailure(); ++life) lives.live_mixed(100);
  EXPECT_EQ(store_->stats().contradictions, 0u);
}

INSTANTIATE_TEST_SUITE_P(Every, RedisNumbers,
                         testing::Values(Algorithm::kGcra, Algorithm::kTokenBucket, Algorithm::kLeakyBucket,
                                         Algorithm::kFixedWindow, Algorithm::kSlidingWindow,
                                         Algorithm::kSlidingLog),
                         [](const auto& algorithm) { return std::string(to_string(algorithm.param)); });

}  // namespace
}  // namespace sluice

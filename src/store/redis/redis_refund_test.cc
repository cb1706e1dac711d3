#include <gmock/gmock.h>

#include "algorithm/testing/every_algorithm.h"
#include "store/redis/script/wire.h"
#include "store/redis/testing/redis_store_fixture.h"

namespace sluice {
namespace {

// Refunds, and limits whose numbers have changed, on a real server.
class RedisRefundTest : public RedisStoreFixture {
 protected:
  static constexpr std::int64_t kDay = 86'400 * kSecond;

  void SetUp() override {
    RedisStoreFixture::SetUp();
    if (HasFatalFailure()) return;
    server_.start();
    RedisBackendOptions with = options(server_);
    with.batches_in_flight = 1;
    make_connected_store(with);
  }
  // Gives an answered call back, as a cluster does: starts the same call again, with its results still in it.
  TestCall& give_back(TestCall& granted) {
    EXPECT_TRUE(granted.allowed());
    granted.refund_of_us = granted.now_us;
    granted.times_done = 0;
    EXPECT_TRUE(finish(granted).allowed());
    return granted;
  }
  std::int64_t remaining(const Charge& charge) {
    TestCall look({{.key = charge.key, .params = charge.params, .cost = 0}});
    return finish(look).remaining();
  }

  static std::string name_of(std::string_view counter) {
    std::string name;
    append_key(name, "rl:", 0, key(counter));
    return name;
  }

  TestRedisServer server_;
};

TEST_F(RedisRefundTest, GivesBackEveryAlgorithmInOneCall) {
  std::vector<Charge> charges;
  for (const Algorithm algorithm : kEveryAlgorithm)
    charges.push_back({.key = key(to_string(algorithm)), .params = limit(algorithm, 10, kDay), .cost = 3});
  TestCall before(charges), granted(charges);
  finish(before);
  finish(granted);
  give_back(granted);
  for (std::size_t i = 0; i < charges.size(); ++i) {
    EXPECT_EQ(granted.remaining(i), 7) << to_string(kEveryAlgorithm[i]);
    EXPECT_EQ(remaining(charges[i]), 7) << to_string(kEveryAlgorithm[i]);
  }
  EXPECT_EQ(store_->stats().contradictions, 0u);
}

// A unit is refilled in 86.4 µs, less than a round trip takes. If it were not known that there were charges
// before it, nothing would be given back.
TEST_F(RedisRefundTest, OfABusyLimitOfManyPerMillisecondGivesAllBack) {
  const ParamsId many = limit(Algorithm::kGcra, 1'000'000'000, kDay);
  TestCall before({{.key = key("busy"), .params = many, .cost = 900'000'000}});
  ASSERT_TRUE(finish(before).allowed());
  TestCall granted({{.key = key("busy"), .params = many, .cost = 5}});
  finish(granted);
  const std::int64_t full_at_us = granted.now_us + granted.results[0].outcome.reset_after_us;
  TestCall other({{.key = key("busy"), .params = many, .cost = 10}});
  finish(other);
  give_back(granted);
  EXPECT_EQ(granted.now_us + granted.results[0].outcome.reset_after_us, full_at_us + 2 * 432 - 432);
}

TEST_F(RedisRefundTest, WhatCountsDenialsStaysCharged) {
  const ParamsId ten = limit(Algorithm::kGcra, 10, kDay);
  const Charge free{.key = key("free"), .params = ten, .cost = 4};
  const Charge counts{.key = key("counts"), .params = ten, .cost = 4, .on_denial = OnDenial::kCharge};
  TestCall granted({free, counts});
  finish(granted);
  give_back(granted);
  EXPECT_EQ(remaining(free), 10);
  EXPECT_EQ(remaining(counts), 6);
  EXPECT_EQ(granted.remaining(1), 6);
}

TEST_F(RedisRefundTest, OfUnitsThatNobodyRemembersTakesTheLatestAlsoWhereDenialsCount) {
  std::vector<Charge> charges;
  for (const Algorithm algorithm : kEveryAlgorithm)
    charges.push_back({.key = key(to_string(algorithm)),
                       .params = limit(algorithm, 10, 366 * kDay),
                       .cost = 7,
                       .on_denial = OnDenial::kCharge});
  TestCall taken(charges);
  finish(taken);
  for (Charge& charge : charges) charge.cost = 3;
  TestCall returned(charges);
  returned.refund_of_us = Grant::kAnyTime;
  EXPECT_TRUE(finish(returned).allowed());
  for (std::size_t i = 0; i < charges.size(); ++i) {
    EXPECT_EQ(returned.remaining(i), 6) << to_string(kEveryAlgorithm[i]);
    EXPECT_EQ(remaining(charges[i]), 6) << to_string(kEveryAlgorithm[i]);
    charges[i].cost = 50;
  }
  TestCall too_many(charges);
  too_many.refund_of_us = Grant::kAnyTime;
  EXPECT_TRUE(finish(too_many).allowed());
  for (std::size_t i = 0; i < charges.size(); ++i)
    EXPECT_EQ(too_many.remaining(i), 10) << to_string(kEveryAlgorithm[i]);
  EXPECT_THAT(server_.ask({"DBSIZE"}), testing::HasSubstr("0")) << "nothing is left to remember";
  EXPECT_EQ(store_->stats().contradictions, 0u);
}

TEST_F(RedisRefundTest, WithARequestIdItCountsOnce) {
  const Charge charge{.key = key("a"), .params = limit(Algorithm::kFixedWindow, 10, 366 * kDay), .cost = 3};
  TestCall granted({charge}), other({charge});
  granted.dedupe = Dedupe{key("request 1"), 1, 600 * kSecond};
  finish(granted);
  finish(other);
  TestCall again({charge});
  std::ranges::copy(granted.results, again.results.begin());
  again.dedupe = granted.dedupe;
  again.refund_of_us = granted.now_us;
  EXPECT_FALSE(give_back(granted).replayed);
  EXPECT_EQ(granted.remaining(), 7);
  EXPECT_TRUE(finish(again).replayed);
  EXPECT_TRUE(again.allowed());
  EXPECT_EQ(remaining(charge), 7);
  EXPECT_THAT(server_.ask({"DBSIZE"}), testing::HasSubstr("1")) << "nothing is left to remember";
  EXPECT_EQ(store_->stats().contradictions, 0u);
}

TEST_F(RedisRefundTest, OthersInTheBatchSeeTheRoom) {
  const Charge all{.key = key("a"), .params = limit(Algorithm::kGcra, 10, kDay), .cost = 10};
  TestCall granted({all});
  finish(granted);
  granted.refund_of_us = granted.now_us;
  TestCall first({{.key = key("other"), .params = all.params}});  // keeps the others in one batch
  TestCall one({{.key = all.key, .params = all.params}, {.key = key("b"), .params = all.params}});
  for (TestCall* call : {&first, &granted, &one}) EXPECT_FALSE(store_->start(*call));
  EXPECT_TRUE(run_until([&] { return one.times_done > 0; }));
  EXPECT_TRUE(one.allowed());
  EXPECT_EQ(one.remaining(), 9);
  EXPECT_EQ(store_->stats().contradictions, 0u);
}

// The counter is gone, except for what the batch itself has charged: the answer and the stored value agree.
TEST_F(RedisRefundTest, OfACounterThatWasResetAgreesWithWhatIsStored) {
  const Charge charge{.key = key("a"), .params = limit(Algorithm::kGcra, 10, kDay), .cost = 3};
  TestCall granted({charge});
  finish(granted);
  server_.ask({"DEL", name_of("a")});
  granted.refund_of_us = granted.now_us;
  TestCall first({{.key = key("b"), .params = charge.params}});  // keeps the others in one batch
  TestCall other({{.key = key("a"), .params = charge.params, .cost = 5}});
  TestCall both({{.key = key("a"), .params = charge.params}, {.key = key("c"), .params = charge.params}});
  for (TestCall* call : {&first, &other, &granted, &both}) EXPECT_FALSE(store_->start(*call));
  EXPECT_TRUE(run_until([&] { return both.times_done > 0; }));
  const std::int64_t later = remaining(charge);  // a unit that was nearly refilled may be free by now
  EXPECT_TRUE(later == both.remaining() || later == both.remaining() + 1) << later << both.remaining();
  EXPECT_GE(both.remaining(), 4);
}

TEST_F(RedisRefundTest, ACounterThatHasMovedToOtherNumbersIsLeftAlone) {
  const ParamsId ten = limit(Algorithm::kGcra, 10, kDay), hundred = limit(Algorithm::kGcra, 100, kDay);
  TestCall granted({{.key = key("a"), .params = ten, .cost = 4}});
  finish(granted);
  const Charge raised{.key = key("a"), .params = hundred, .cost = 50};
  TestCall moves({raised});
  EXPECT_TRUE(finish(moves).allowed());
  const std::string value = server_.ask({"GET", name_of("a")});
  granted.refund_of_us = granted.now_us;
  TestCall first({{.key = key("b"), .params = ten}});  // keeps the others in one batch
  TestCall look({{.key = key("a"), .params = ten, .cost = 0}});
  for (TestCall* call : {&first, &granted, &look}) EXPECT_FALSE(store_->start(*call));
  EXPECT_TRUE(run_until([&] { return look.times_done > 0; }));
  EXPECT_EQ(look.remaining(), remaining({.key = key("a"), .params = ten}))
      << "to whom it means something else";
  EXPECT_EQ(server_.ask({"GET", name_of("a")}), value);
  EXPECT_EQ(remaining(raised), 46);
}

// Changed numbers

TEST_F(RedisRefundTest, ARaisedLimitHelpsAtOnceAndKeepsWhatWasUsed) {
  for (const Algorithm algorithm : kEveryAlgorithm) {
    SCOPED_TRACE(to_string(algorithm));
    const KeyHash name = key(to_string(algorithm));
    const ParamsId ten = limit(algorithm, 10, kDay), hundred = limit(algorithm, 100, kDay);
    TestCall before({{.key = name, .params = ten, .cost = 10}});
    EXPECT_TRUE(finish(before).allowed());
    const Charge raised{.key = name, .params = hundred};
    EXPECT_EQ(remaining(raised), 90);
    TestCall after({raised});
    EXPECT_TRUE(finish(after).allowed());
    EXPECT_EQ(after.remaining(), 89);
    EXPECT_EQ(remaining({.key = name, .params = hundred}), 89)
        << "it has moved: the former numbers are not needed";
  }
  EXPECT_EQ(store_->stats().contradictions, 0u);
}

TEST_F(RedisRefundTest, LimitsThatShareNumbersNeedNotShareTheirPast) {
  const ParamsId ten = limit(Algorithm::kGcra, 10, kDay), hundred = limit(Algorithm::kGcra, 100, kDay);
  TestCall before(
      {{.key = key("a"), .params = ten, .cost = 10}, {.key = key("b"), .params = hundred, .cost = 10}});
  EXPECT_TRUE(finish(before).allowed());
  TestCall after({{.key = key("a"), .params = hundred}, {.key = key("b"), .params = hundred}});
  EXPECT_TRUE(finish(after).allowed());
  EXPECT_EQ(after.remaining(0), 89);
  EXPECT_EQ(after.remaining(1), 89);
}

// A counter's value contains the numbers it is kept under: the reader need not have seen them before.
TEST_F(RedisRefundTest, NumbersThatNobodyHereKnowsAreReadExactly) {
  for (const Algorithm algorithm : kEveryAlgorithm) {
    SCOPED_TRACE(to_string(algorithm));
    const KeyHash name = key(to_string(algorithm));
    TestCall before({{.key = name, .params = limit(algorithm, 12, 7 * kDay), .cost = 5}});
    EXPECT_TRUE(finish(before).allowed());
    make_connected_store(options(server_));  // like another node
    EXPECT_EQ(remaining({.key = name, .params = limit(algorithm, 100, kDay)}), 95);
    EXPECT_EQ(remaining({.key = name, .params = limit(algorithm, 3, 1000 * kSecond)}), 0);
  }
  EXPECT_EQ(store_->stats().contradictions, 0u);
}

}  // namespace
}  // namespace sluice

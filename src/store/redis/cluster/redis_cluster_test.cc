#include <gmock/gmock.h>

#include "store/redis/testing/cluster_store_fixture.h"
#include "store/testing/dedupe_conformance.h"

namespace sluice {
namespace {

using testing::HasSubstr;

class RedisClusterTest : public ClusterStoreFixture {
 protected:
  void SetUp() override {
    ClusterStoreFixture::SetUp();
    if (!HasFatalFailure()) make_connected_store(options());
  }
};

TEST_F(RedisClusterTest, CountersLiveOnTheNodeOfTheirSlot) {
  for (std::size_t master = 0; master < 3; ++master) {
    const Charge counter = charge("a", tag_on(master), 1, 2);
    for (const bool allowed : {true, true, false}) {
      TestCall call({counter});
      EXPECT_EQ(finish(call).allowed(), allowed);
    }
    EXPECT_EQ(cluster_.node(master).ask({"DBSIZE"}), "1");
  }
  EXPECT_EQ(store_->stats().redirected, 0u) << "the map was right";
  EXPECT_EQ(store_->node_stats().contradictions, 0u);
}

TEST_F(RedisClusterTest, OneServerAndOneNameForManyIsEnough) {
  ClusterStoreOptions by_name = options();
  by_name.seeds = {{.host = "127.0.0.1", .port = 1}, {.host = "localhost", .port = cluster_.node(2).port()}};
  make_connected_store(by_name);
  TestCall call({charge("a", tag_on(0)), charge("b", tag_on(1))});
  EXPECT_TRUE(finish(call).allowed());
}

TEST_F(RedisClusterTest, ThreeSlotsCostOneCommandEachAtTheSameTime) {
  const std::vector<Charge> charges = {charge("a", tag_on(0)), charge("b", tag_on(1)), charge("c", tag_on(2)),
                                       charge("d", tag_on(0))};
  const long before = cluster_.script_calls();
  TestCall call(charges);
  EXPECT_FALSE(store_->start(call));
  EXPECT_EQ(store_->node_stats().batches, 3u) << "all are sent before any has answered";
  EXPECT_TRUE(run_until([&] { return call.times_done == 1; }));
  EXPECT_TRUE(call.allowed());
  EXPECT_EQ(cluster_.script_calls() - before, 3);
  for (const Charge& counter : charges) EXPECT_EQ(used(counter), 1);
}

TEST_F(RedisClusterTest, ManyCallsOnManySlotsOfANodeGoTogether) {
  std::vector<std::unique_ptr<TestCall>> calls;
  for (int i = 0; i < 200; ++i)
    calls.push_back(std::make_unique<TestCall>(std::vector{charge("a", tag_on(0, i % 10))}));
  const long before = cluster_.script_calls();
  for (const auto& call : calls) EXPECT_FALSE(store_->start(*call));
  for (const auto& call : calls) {
    EXPECT_TRUE(run_until([&] { return call->times_done == 1; }));
    EXPECT_TRUE(call->allowed());
  }
  EXPECT_LE(cluster_.script_calls() - before, 2 + 5 * 10) << "one per slot and flight";
  for (int i = 0; i < 10; ++i) EXPECT_EQ(used(charge("a", tag_on(0, i))), 20);
}

TEST_F(RedisClusterTest, AllSlotsOrNone) {
  const Charge wide = charge("wide", tag_on(0), 3, 10), narrow = charge("narrow", tag_on(1), 1, 1);
  TestCall first({wide, narrow}), second({wide, narrow});
  EXPECT_TRUE(finish(first).allowed());
  EXPECT_EQ(first.remaining(0), 7);
  EXPECT_EQ(finish(second).verdict, Verdict::kDenied);
  EXPECT_EQ(second.remaining(0), 7) << "not charged";
  EXPECT_TRUE(second.results[0].outcome.allowed);
  EXPECT_FALSE(second.results[1].outcome.allowed);
  EXPECT_GT(second.results[1].outcome.retry_after_us, 0);
  EXPECT_EQ(used(wide), 3);
  EXPECT_EQ(store_->stats().refunds, 1u);
  EXPECT_EQ(store_->stats().refunds_lost, 0u);
}

// If all buckets of a check are on one slot, each counts all denials, whichever bucket denied.
TEST_F(RedisClusterTest, DeniedCostsOfBucketsOnOneSlotAddUp) {
  for (std::size_t master = 0; master < 3; ++master) {
    const auto bucket = [&](const char* name, std::int64_t capacity) {
      return Charge{.key = key(name),
                    .params = limit(Algorithm::kLeakyBucket, capacity, 86'400 * kSecond),
                    .slot_tag = tag_on(master)};
    };
    std::vector<Charge> charges = {bucket("wide", 8), bucket("narrow", 5)};
    const auto denied_costs = [&](std::int64_t cost) {
      for (Charge& charge : charges) charge.cost = cost;
      TestCall call(charges);
      finish(call);
      return std::vector{call.results[0].denied_cost, call.results[1].denied_cost};
    };
    EXPECT_EQ(denied_costs(6), (std::vector<std::int64_t>{6, 6})) << "the wide one had room";
    EXPECT_EQ(denied_costs(9), (std::vector<std::int64_t>{15, 15}));
    EXPECT_EQ(denied_costs(0), (std::vector<std::int64_t>{15, 15})) << "a look";
    EXPECT_EQ(denied_costs(5), (std::vector<std::int64_t>{0, 0}));
    EXPECT_EQ(denied_costs(1), (std::vector<std::int64_t>{1, 1}));
  }
  EXPECT_EQ(store_->stats().refunds, 0u) << "one step each";
}

TEST_F(RedisClusterTest, ARequestIdCountsOnceOnEverySlot) {
  const std::vector<Charge> charges = {charge("a", tag_on(0)), charge("b", tag_on(1)),
                                       charge("c", tag_on(2))};
  TestCall first(charges), again(charges), other(charges);
  first.dedupe = again.dedupe = other.dedupe = Dedupe{key("request 1"), 77, 600 * kSecond};
  other.dedupe->fingerprint = 78;
  EXPECT_TRUE(finish(first).allowed());
  EXPECT_FALSE(first.replayed);
  EXPECT_TRUE(finish(again).allowed());
  EXPECT_TRUE(again.replayed);
  finish(other);
  EXPECT_TRUE(other.conflict);
  for (const Charge& counter : charges) EXPECT_EQ(used(counter), 1);
}

TEST_F(RedisClusterTest, ADeniedRequestIsGivenBackOnceHoweverOftenItIsRepeated) {
  const Charge wide = charge("wide", tag_on(0), 3, 10), narrow = charge("narrow", tag_on(1), 2, 1);
  TestCall earlier({wide});
  EXPECT_TRUE(finish(earlier).allowed());
  for (int i = 0; i < 3; ++i) {
    TestCall denied({wide, narrow});
    denied.dedupe = Dedupe{key("request 1"), 77, 600 * kSecond};
    EXPECT_EQ(finish(denied).verdict, Verdict::kDenied);
    EXPECT_FALSE(denied.replayed) << "on the slot that denies, it charges nothing";
    EXPECT_EQ(used(wide), 3);
  }
}

// A charge that one slot has given back is made again when the request is admitted at last.
TEST_F(RedisClusterTest, ADeniedRequestThatIsAdmittedLaterIsChargedOnEverySlot) {
  const Charge wide = charge("wide", tag_on(0), 3, 10), narrow = charge("narrow", tag_on(1), 2, 2);
  TestCall others({narrow}), denied({wide, narrow}), then({wide, narrow}), again({wide, narrow});
  denied.dedupe = then.dedupe = again.dedupe = Dedupe{key("request 1"), 77, 600 * kSecond};
  EXPECT_TRUE(finish(others).allowed());
  EXPECT_EQ(finish(denied).verdict, Verdict::kDenied);
  EXPECT_EQ(used(wide), 0);
  int existed = -2;
  const CounterName name{narrow.key, narrow.slot_tag};
  store_->reset({&name, 1}, [&](int count) { existed = count; });
  EXPECT_TRUE(run_until([&] { return existed == 1; }));
  EXPECT_TRUE(finish(then).allowed());
  EXPECT_FALSE(then.replayed);
  EXPECT_EQ(used(wide), 3);
  EXPECT_EQ(used(narrow), 2);
  EXPECT_TRUE(finish(again).allowed());
  EXPECT_TRUE(again.replayed);
  EXPECT_EQ(used(wide), 3);
}

// A second try comes while the first is about to be denied: the charge on the wide slot that the second was
// told of stays, although the first gives it back.
TEST_F(RedisClusterTest, WhatASecondTryWasToldOfStaysCharged) {
  const Charge wide = charge("wide", tag_on(0), 3, 10), narrow = charge("narrow", tag_on(1), 2, 2);
  const Dedupe id{key("request 1"), 77, 600 * kSecond};
  TestCall first({wide}), second({wide, narrow});
  first.dedupe = second.dedupe = id;
  EXPECT_TRUE(finish(first).allowed());
  EXPECT_TRUE(finish(second).allowed());
  EXPECT_EQ(used(wide), 3);
  TestCall late_refund({wide});
  late_refund.dedupe = id;
  late_refund.refund_of_us = first.now_us;
  std::ranges::copy(first.results, late_refund.results.begin());
  finish(late_refund);
  EXPECT_TRUE(late_refund.replayed);
  EXPECT_EQ(used(wide), 3);
}

// The first try reached one slot only. That it was not admitted nobody knows.
TEST_F(RedisClusterTest, ASecondTryThatIsDeniedLeavesWhatTheFirstWasGranted) {
  const Charge wide = charge("wide", tag_on(0), 3, 10), narrow = charge("narrow", tag_on(1), 2, 1);
  const Dedupe id{key("request 1"), 77, 600 * kSecond};
  TestCall half({wide}), whole({wide, narrow});
  half.dedupe = whole.dedupe = id;
  EXPECT_TRUE(finish(half).allowed());
  EXPECT_EQ(finish(whole).verdict, Verdict::kDenied);
  EXPECT_FALSE(whole.replayed);
  EXPECT_EQ(used(wide), 3);
}

TEST_F(RedisClusterTest, ARepeatGivesNothingBackOfARequestThatWasAdmitted) {
  const Charge wide = charge("wide", tag_on(0), 3, 10), narrow = charge("narrow", tag_on(1), 1, 1);
  TestCall first({wide, narrow}), other({narrow}), repeat({wide, narrow});
  first.dedupe = repeat.dedupe = Dedupe{key("request 1"), 77, 600 * kSecond};
  EXPECT_TRUE(finish(first).allowed());
  cluster_.node(1).ask({"FLUSHALL"});  // the record there is gone, as if it had expired
  EXPECT_TRUE(finish(other).allowed());
  EXPECT_EQ(finish(repeat).verdict, Verdict::kDenied);
  EXPECT_EQ(used(wide), 3);
}

TEST_F(RedisClusterTest, ResetForgetsCountersOnEveryNode) {
  TestCall call({charge("a", tag_on(0)), charge("b", tag_on(1)), charge("c", tag_on(2))});
  EXPECT_TRUE(finish(call).allowed());
  int existed = -2;
  const CounterName names[] = {{key("a"), tag_on(0)}, {key("b"), tag_on(1)}, {key("never"), tag_on(2)}};
  store_->reset(names, [&](int count) { existed = count; });
  EXPECT_TRUE(run_until([&] { return existed != -2; }));
  EXPECT_EQ(existed, 2);
  EXPECT_EQ(used(charge("a", tag_on(0))), 0);
  EXPECT_EQ(used(charge("c", tag_on(2))), 1);
}

class RedisClusterAccessTest : public ClusterStoreFixture {
 protected:
  RedisClusterAccessTest() : ClusterStoreFixture(0) {}
};

TEST_F(RedisClusterAccessTest, APasswordIsForAllNodes) {
  for (std::size_t i = 0; i < 3; ++i) cluster_.node(i).ask({"CONFIG", "SET", "requirepass", "right"});
  ClusterStoreOptions with = options();
  with.seeds[0].password = "wrong";
  store_ = std::make_unique<ClusterStore>(transport_, clock_, params_, with, random());
  EXPECT_TRUE(run_until([&] { return store_->node_stats().connections_lost > 0; }));
  EXPECT_FALSE(store_->health().connected);
  EXPECT_THAT(store_->health().problems, testing::Contains(HasSubstr("WRONGPASS")));
  with.seeds[0].password = "right";
  make_connected_store(with);
  TestCall call({charge("a", tag_on(0)), charge("b", tag_on(1)), charge("c", tag_on(2))});
  EXPECT_TRUE(finish(call).allowed());
}

// A request id on a cluster means what it means everywhere.
class ClusterUnderTest final : public DedupeUnderTest, private ClusterStoreFixture {
 public:
  ClusterUnderTest() {
    SetUp();
    make_connected_store(options());
  }
  Store& store() override { return *store_; }
  ParamsTable& params() override { return params_; }
  void wait(std::int64_t us) override { run_for(us); }
  bool run_until(const std::function<bool()>& done) override { return LoopFixture::run_until(done); }

 private:
  void TestBody() override {}
};

INSTANTIATE_TEST_SUITE_P(Cluster, DedupeConformance,
                         testing::Values(DedupeFactory{"cluster",
                                                       [] { return std::make_unique<ClusterUnderTest>(); }}));

}  // namespace
}  // namespace sluice

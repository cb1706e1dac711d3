#include "store/memory/memory_store.h"

#include <gtest/gtest.h>

#include <optional>

#include "base/time_units.h"
#include "store/memory/memory_counters.h"
#include "store/testing/dedupe_conformance.h"

namespace sluice {
namespace {

constexpr std::int64_t kStoreStartUs = 1'800'000'000'000'000;

class MemoryStoreUnderTest final : public DedupeUnderTest {
 public:
  Store& store() override { return store_; }
  ParamsTable& params() override { return params_; }
  void wait(std::int64_t us) override { clock_.advance(us); }
  bool run_until(const std::function<bool()>& done) override { return done(); }

 private:
  ManualClock clock_{kStoreStartUs};
  ParamsTable params_;
  MemoryCounters counters_{clock_, params_, {.bytes_max = 4 << 20}};
  MemoryStore store_{counters_, clock_};
};

INSTANTIATE_TEST_SUITE_P(Memory, DedupeConformance,
                         testing::Values(DedupeFactory{
                             "memory", [] { return std::make_unique<MemoryStoreUnderTest>(); }}));

// Counters that can be made to give no answer.
class MoodyCounters final : public Counters {
 public:
  explicit MoodyCounters(Counters& counters) : counters_(counters) {}
  Verdict apply(std::span<const Charge> charges, std::span<ChargeResult> results,
                std::int64_t& now_us) override {
    ++asked;
    return answers ? counters_.apply(charges, results, now_us) : Verdict::kNoAnswer;
  }
  Verdict refund(std::span<const Charge> charges, std::span<ChargeResult> results, std::int64_t granted_at_us,
                 std::int64_t& now_us) override {
    return answers ? counters_.refund(charges, results, granted_at_us, now_us) : Verdict::kNoAnswer;
  }
  int reset(std::span<const KeyHash> keys) override { return answers ? counters_.reset(keys) : -1; }
  void tend() override { ++tended; }
  Stats stats() const override { return counters_.stats(); }

  bool answers = true;
  int asked = 0, tended = 0;

 private:
  Counters& counters_;
};

class MemoryStoreTest : public testing::Test {
 protected:
  static constexpr std::uint64_t kSmall = RequestLog::Options::kBytesMin;  // one shard: all ids in one order

  // Whether the id was known before.
  bool comes_again(std::uint64_t id, std::int64_t ttl_us = 600 * kSecondUs, std::size_t limits = 1,
                   Dedupe::Owner owner = {}) {
    std::vector<Charge> charges;
    for (std::size_t i = 0; i < limits; ++i) charges.push_back({{1, i}, many_, 1});
    TestCall call(charges);
    call.dedupe = Dedupe{.id = {7, id}, .fingerprint = 1, .ttl_us = ttl_us, .owner = owner};
    EXPECT_TRUE(store_.start(call));
    EXPECT_EQ(call.verdict, Verdict::kAllowed);
    return call.replayed;
  }
  RequestLog::Stats stats() const { return store_.request_log_stats(); }

  ManualClock clock_{kStoreStartUs};
  ParamsTable params_;
  MemoryCounters counters_{clock_, params_, {.bytes_max = 4 << 20}};
  MoodyCounters moody_{counters_};
  MemoryStore store_{moody_, clock_, {.bytes_max = kSmall}};
  const ParamsId many_ = params_.intern(
      make_limit_params(Algorithm::kGcra, {1'000'000, 86'400 * kSecondUs}, std::nullopt).value());
};

TEST_F(MemoryStoreTest, AnswersAtOnce) {
  EXPECT_TRUE(store_.answers_at_once());
  EXPECT_EQ(store_.next_due_us(), INT64_MAX);
  EXPECT_TRUE(store_.health().connected);
  TestCall call({{{1, 1}, many_, 3}});
  EXPECT_TRUE(store_.start(call));
  EXPECT_TRUE(call.allowed());
  EXPECT_EQ(call.now_us, kStoreStartUs);
  EXPECT_EQ(call.results_known, 1u);
  EXPECT_EQ(call.remaining(), 999'997);
  EXPECT_EQ(call.times_done, 0) << "start() has said so";
}

TEST_F(MemoryStoreTest, WithoutAnIdNothingIsRemembered) {
  TestCall call({{{1, 1}, many_, 3}});
  for (int i = 0; i < 3; ++i) store_.start(call);
  EXPECT_EQ(stats().entries, 0u);
  EXPECT_EQ(stats().bytes, 0u);
}

TEST_F(MemoryStoreTest, NoAnswerIsNotRemembered) {
  TestCall call({{{1, 1}, many_, 3}});
  for (const bool with_id : {false, true}) {
    if (with_id) call.dedupe = Dedupe{{7, 7}, 1, 600 * kSecondUs};
    moody_.answers = false;
    EXPECT_TRUE(store_.start(call));
    EXPECT_EQ(call.verdict, Verdict::kNoAnswer);
    EXPECT_EQ(call.results_known, 0u);
    moody_.answers = true;
    EXPECT_TRUE(store_.start(call));
    EXPECT_TRUE(call.allowed());
    EXPECT_FALSE(call.replayed);
  }
  EXPECT_EQ(stats().entries, 1u);
}

TEST_F(MemoryStoreTest, ResetCountsWhatExistedHoweverMany) {
  std::vector<CounterName> names;
  for (std::uint64_t i = 0; i < 100; ++i) {
    names.push_back({{1, i}});
    if (i % 2 == 1) continue;
    TestCall call({{{1, i}, many_, 1}});
    store_.start(call);
  }
  std::optional<int> existed;
  store_.reset(names, [&](int count) { existed = count; });
  EXPECT_EQ(existed, 50);
  store_.reset(names, [&](int count) { existed = count; });
  EXPECT_EQ(existed, 0);
  moody_.answers = false;
  store_.reset(names, [&](int count) { existed = count; });
  EXPECT_EQ(existed, -1);
}

TEST_F(MemoryStoreTest, TheOldestIdGoesFirstWhenMemoryIsFull) {
  std::uint64_t ids = 0;
  while (stats().evicted == 0) {
    ASSERT_FALSE(comes_again(++ids));
    ASSERT_LE(stats().bytes, stats().bytes_max);
  }
  EXPECT_GT(ids, 400u) << "some hundred bytes each";
  EXPECT_EQ(stats().entries, ids - 1);
  for (std::uint64_t id = 2; id <= ids; ++id) ASSERT_TRUE(comes_again(id)) << id;
  EXPECT_FALSE(comes_again(1));
  EXPECT_EQ(stats().evicted, 2u);
  EXPECT_FALSE(comes_again(2)) << "the oldest then";
  EXPECT_TRUE(comes_again(4));
}

TEST_F(MemoryStoreTest, ATenantThatFloodsForgetsItsOwnIdsOnly) {
  for (std::uint64_t id = 0; id < 40; ++id) comes_again(id, 600 * kSecondUs, 1, {1, 1});
  for (std::uint64_t id = 0; id < 5; ++id) comes_again(1'000 + id, 600 * kSecondUs, 1, {1, 2});
  for (std::uint64_t id = 0; id < 5'000; ++id) {
    comes_again(10'000 + id, 600 * kSecondUs, 1 + id % 3, {1, 3});
    ASSERT_LE(stats().bytes, stats().bytes_max);
  }
  EXPECT_GT(stats().evicted, 4'000u);
  for (std::uint64_t id = 0; id < 40; ++id) EXPECT_TRUE(comes_again(id, 600 * kSecondUs, 1, {1, 1})) << id;
  for (std::uint64_t id = 0; id < 5; ++id)
    EXPECT_TRUE(comes_again(1'000 + id, 600 * kSecondUs, 1, {1, 2})) << id;
  EXPECT_TRUE(comes_again(14'999, 600 * kSecondUs, 1 + 4'999 % 3, {1, 3})) << "its own last one is there";
  EXPECT_FALSE(comes_again(10'000, 600 * kSecondUs, 1, {1, 3})) << "its first one is not";
}

TEST_F(MemoryStoreTest, TenantsThatFloodAtTheSameTimeHaveEqualShares) {
  constexpr std::uint64_t kTenants = 4, kIds = 1'000;
  for (std::uint64_t id = 0; id < kIds; ++id)
    for (std::uint64_t tenant = 0; tenant < kTenants; ++tenant)
      for (std::uint64_t times = 0; times < tenant + 1; ++times)  // some come more often than others
        comes_again(tenant * 100'000 + id * 10 + times, 600 * kSecondUs, 1, {1, 1 + tenant});
  const std::uint64_t share = stats().entries / kTenants;
  for (std::uint64_t tenant = 0; tenant < kTenants; ++tenant) {
    const std::uint64_t last = tenant * 100'000 + (kIds - 1) * 10;
    for (std::uint64_t n = 0; n < share / (tenant + 1) * 9 / 10; ++n)
      ASSERT_TRUE(comes_again(last - n * 10, 600 * kSecondUs, 1, {1, 1 + tenant})) << tenant << " " << n;
  }
}

// Tenants that no policy names share one part.
TEST_F(MemoryStoreTest, InventedTenantsTakeNothingFromThoseThatAreKnown) {
  for (std::uint64_t id = 0; id < 100; ++id) comes_again(id, 600 * kSecondUs, 1, {1, 1, 1});
  for (std::uint64_t id = 0; id < 5'000; ++id) comes_again(10'000 + id, 600 * kSecondUs, 1, {1, 0, 100 + id});
  EXPECT_GT(stats().evicted, 4'000u);
  for (std::uint64_t id = 0; id < 100; ++id)
    EXPECT_TRUE(comes_again(id, 600 * kSecondUs, 1, {1, 1, 1})) << id;
}

// Which tenants a caller names affects only itself.
TEST_F(MemoryStoreTest, ACallerThatInventsTenantsForgetsItsOwnIdsOnly) {
  constexpr std::uint64_t kIds = 100;
  for (std::uint64_t id = 0; id < kIds; ++id) comes_again(id, 600 * kSecondUs, 1, {1, id % 2});
  for (std::uint64_t id = 0; id < 5'000; ++id) {
    comes_again(10'000 + id, 600 * kSecondUs, 1, {2, id});
    ASSERT_LE(stats().bytes, stats().bytes_max);
  }
  EXPECT_GT(stats().evicted, 4'000u);
  for (std::uint64_t id = 0; id < kIds; ++id)
    EXPECT_TRUE(comes_again(id, 600 * kSecondUs, 1, {1, id % 2})) << id;
}

TEST_F(MemoryStoreTest, CallersThatFloodAtTheSameTimeHaveEqualShares) {
  constexpr std::uint64_t kIds = 1'000;
  for (std::uint64_t id = 0; id < kIds; ++id) {
    comes_again(id, 600 * kSecondUs, 1, {1, 1});
    for (std::uint64_t tenant = 0; tenant < 4; ++tenant)
      comes_again(100'000 + id * 10 + tenant, 600 * kSecondUs, 1, {2, tenant});
  }
  const std::uint64_t share = stats().entries / 2 * 9 / 10;
  for (std::uint64_t n = 1; n <= share; ++n)
    ASSERT_TRUE(comes_again(kIds - n, 600 * kSecondUs, 1, {1, 1})) << n;
  for (std::uint64_t n = 1; n <= share / 4; ++n)
    for (std::uint64_t tenant = 0; tenant < 4; ++tenant)
      ASSERT_TRUE(comes_again(100'000 + (kIds - n) * 10 + tenant, 600 * kSecondUs, 1, {2, tenant})) << n;
}

TEST_F(MemoryStoreTest, WhatChargesNothingTakesNobodysMemory) {
  std::uint64_t ids = 0;
  while (stats().bytes + 1'000 < stats().bytes_max || ids == 0) comes_again(++ids);
  const RequestLog::Stats before = stats();
  const ParamsId never =
      params_.intern(make_limit_params(Algorithm::kGcra, {0, kSecondUs}, std::nullopt).value());
  for (std::uint64_t i = 0; i < 1'000; ++i) {
    TestCall look({{{1, 1}, many_, 0}}), denied({{{1, 1}, many_, 1}, {{1, 2}, never, 1}});
    look.dedupe = Dedupe{.id = {8, i}, .ttl_us = kSecondUs, .owner = {2, i}};
    denied.dedupe = Dedupe{.id = {9, i}, .ttl_us = kSecondUs, .owner = {3, i}};
    store_.start(look);
    store_.start(denied);
    EXPECT_EQ(denied.verdict, Verdict::kDenied);
  }
  EXPECT_EQ(stats().entries, before.entries);
  EXPECT_EQ(stats().bytes, before.bytes);
  EXPECT_EQ(stats().evicted, 0u);
  EXPECT_TRUE(comes_again(1));
}

TEST_F(MemoryStoreTest, ManyTenantsStayWithinTheMemoryAndLeaveNothing) {
  comes_again(0, kSecondUs);
  const std::uint64_t bytes_of_one = stats().bytes;
  for (std::uint64_t id = 1; id < 10'000; ++id) {
    comes_again(id, kSecondUs, 1, {id % 10, id});
    ASSERT_LE(stats().bytes, stats().bytes_max);
  }
  EXPECT_GT(stats().evicted, 1'000u);
  moody_.answers = false;
  TestCall call({{{1, 1}, many_, 3}});
  call.dedupe = Dedupe{.id = {8, 8}, .ttl_us = kSecondUs, .owner = {1, 123'456}};
  store_.start(call);
  moody_.answers = true;
  clock_.advance(kSecondUs);
  for (int i = 0; i < 10; ++i) store_.tick(clock_.now_us());
  EXPECT_EQ(stats().entries, 0u);
  comes_again(0);
  EXPECT_EQ(stats().bytes, bytes_of_one);
}

TEST_F(MemoryStoreTest, LongAnswersTakeTheRoomOfSeveralShortOnes) {
  for (std::uint64_t id = 0; id < 1'000; ++id) comes_again(id);
  const std::uint64_t short_ones = stats().entries;
  for (std::uint64_t id = 0; id < 1'000; ++id) {
    comes_again(2'000 + id, 600 * kSecondUs, kLimitsPerCheckMax);
    ASSERT_LE(stats().bytes, stats().bytes_max);
  }
  EXPECT_GT(stats().entries, 50u);
  EXPECT_LT(stats().entries, short_ones / 4);
  EXPECT_EQ(stats().entries + stats().evicted, 2'000u);
}

TEST_F(MemoryStoreTest, IdsThatExpireMakeRoomAndAreNotMissed) {
  for (std::uint64_t id = 0; id < 100'000; ++id) {
    comes_again(id, kSecondUs);
    clock_.advance(10'000);  // a hundred live at a time
  }
  EXPECT_EQ(stats().evicted, 0u);
  EXPECT_LT(stats().entries, 200u);
}

// Here, an id that is kept for days is the oldest.
TEST_F(MemoryStoreTest, LongLivedIdsDoNotHoldUpShortLivedOnes) {
  for (std::uint64_t id = 0; id < 100; ++id) comes_again(1'000'000 + id, 86'400 * kSecondUs);
  for (std::uint64_t id = 0; id < 100'000; ++id) {
    comes_again(id, kSecondUs);
    clock_.advance(10'000);
  }
  EXPECT_EQ(stats().evicted, 0u);
  EXPECT_LT(stats().entries, 400u);
  for (std::uint64_t id = 0; id < 100; ++id) EXPECT_TRUE(comes_again(1'000'000 + id)) << id;
}

TEST_F(MemoryStoreTest, TicksForgetWhatHasExpired) {
  for (std::uint64_t id = 0; id < 400; ++id) comes_again(id, kSecondUs);
  store_.tick(clock_.now_us());
  EXPECT_EQ(stats().entries, 400u);
  clock_.advance(kSecondUs);
  const std::uint64_t bytes_before = stats().bytes;
  for (int i = 0; i < 3; ++i) store_.tick(clock_.now_us());
  EXPECT_EQ(stats().entries, 0u);
  EXPECT_LT(stats().bytes, bytes_before / 4);
  EXPECT_EQ(stats().evicted, 0u);
  EXPECT_EQ(moody_.tended, 4);
}

TEST_F(MemoryStoreTest, AReplayAsksNobody) {
  comes_again(1);
  moody_.asked = 0;
  EXPECT_TRUE(comes_again(1));
  EXPECT_EQ(moody_.asked, 0);
}

TEST_F(MemoryStoreTest, AnIdIsKnownForAMillisecondAtLeast) {
  EXPECT_FALSE(comes_again(1, 1));
  clock_.advance(999);
  EXPECT_TRUE(comes_again(1, 1));
  clock_.advance(1);
  EXPECT_FALSE(comes_again(1, 1));
}

}  // namespace
}  // namespace sluice

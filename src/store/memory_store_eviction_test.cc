#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "base/clock.h"
#include "store/memory_store.h"

namespace sluice {
namespace {

constexpr std::int64_t kSecond = 1'000'000, kHour = 3600 * kSecond;

// A store of 1 MiB, which holds some 20,000 counters, and floods of many more.
class EvictionTest : public testing::Test {
 protected:
  static constexpr std::uint64_t kBytesMax = 1 << 20;
  static constexpr std::uint64_t kKeysThatFit = kBytesMax / 32;  // fewer, in truth

  ParamsId limit(Algorithm algorithm, std::int64_t count, std::int64_t period_us) {
    return params_.intern(make_limit_params(algorithm, {count, period_us}, std::nullopt).value());
  }
  KeyHash key(std::string_view kind, std::uint64_t n) const {
    return hash_(std::string(kind) + std::to_string(n));
  }
  static bool charge(MemoryStore& store, const KeyHash& key, ParamsId params, std::int64_t cost) {
    const Charge charge{key, params, cost};
    ChargeResult result;
    std::int64_t now_us = 0;
    return store.apply({&charge, 1}, {&result, 1}, now_us) == Verdict::kAllowed;
  }
  bool charge(const KeyHash& key, ParamsId params, std::int64_t cost) {
    return charge(store_, key, params, cost);
  }
  void flood(std::string_view kind, std::uint64_t keys, ParamsId params, std::int64_t cost) {
    for (std::uint64_t n = 0; n < keys; ++n) charge(key(kind, n), params, cost);
  }

  KeyHasher hash_ = KeyHasher::from_text("eviction");
  ManualClock clock_{1'800'000'000'000'000};
  ParamsTable params_;
  MemoryStore store_{clock_, params_, {.bytes_max = kBytesMax}};
};

TEST_F(EvictionTest, AFloodStaysWithinTheBudget) {
  const ParamsId ten = limit(Algorithm::kGcra, 10, kHour);
  for (int wave = 0; wave < 10; ++wave) {
    flood("wave " + std::to_string(wave) + " ", kKeysThatFit, ten, 1);
    EXPECT_LE(store_.stats().bytes, kBytesMax);
  }
  const Store::Stats stats = store_.stats();
  EXPECT_GT(stats.keys, kKeysThatFit / 2);
  EXPECT_GT(stats.evicted_in_use, 8 * kKeysThatFit);
  EXPECT_EQ(stats.evicted_over_limit, 0u);
}

TEST_F(EvictionTest, AFloodOfTenTimesTheBudgetDoesNotSetADeniedKeyFree) {
  const ParamsId ten = limit(Algorithm::kGcra, 10, kHour), log = limit(Algorithm::kSlidingLog, 10, kHour);
  for (std::uint64_t n = 0; n < 100; ++n) charge(key("abuser ", n), n % 2 == 0 ? ten : log, 10);
  flood("new ", 10 * kKeysThatFit, ten, 1);
  for (std::uint64_t n = 0; n < 100; ++n)
    EXPECT_FALSE(charge(key("abuser ", n), n % 2 == 0 ? ten : log, 1)) << n;
  EXPECT_EQ(store_.stats().evicted_over_limit, 0u);
}

TEST_F(EvictionTest, ADeniedKeySurvivesAlsoWhenNearlyAllAreDenied) {
  const ParamsId ten = limit(Algorithm::kGcra, 10, kHour);
  flood("denied ", kKeysThatFit / 2, ten, 10);
  flood("new ", 2 * kKeysThatFit, ten, 1);
  EXPECT_EQ(store_.stats().evicted_over_limit, 0u);
  for (std::uint64_t n = 0; n < kKeysThatFit / 2; ++n) ASSERT_FALSE(charge(key("denied ", n), ten, 1)) << n;
}

TEST_F(EvictionTest, IdleKeysGoFirst) {
  const ParamsId large = limit(Algorithm::kGcra, 100'000, kHour),
                 brief = limit(Algorithm::kGcra, 10, kSecond);
  flood("idle ", 2 * kKeysThatFit, brief, 1);
  const std::uint64_t in_use_before = store_.stats().evicted_in_use;
  clock_.advance(10 * kSecond);
  flood("new ", kKeysThatFit / 8, large, 1);
  const Store::Stats stats = store_.stats();
  EXPECT_EQ(stats.evicted_in_use, in_use_before);
  EXPECT_GT(stats.expired + stats.evicted_idle, 0u);
  for (std::uint64_t n = 0; n < kKeysThatFit / 8; ++n) {
    ASSERT_FALSE(charge(key("new ", n), large, 100'000)) << "one is used, so not all fits: it is remembered";
  }
}

TEST_F(EvictionTest, OfKeysInUseThoseThatUsedLittleGo) {
  const ParamsId ten = limit(Algorithm::kGcra, 10, kHour);
  flood("heavy ", kKeysThatFit / 8, ten, 9);
  flood("light ", 4 * kKeysThatFit, ten, 1);
  std::uint64_t heavy_left = 0;
  for (std::uint64_t n = 0; n < kKeysThatFit / 8; ++n) heavy_left += !charge(key("heavy ", n), ten, 2);
  EXPECT_GT(heavy_left, kKeysThatFit / 8 * 99 / 100);
}

TEST_F(EvictionTest, AFloodOfKeysThatExhaustTheirLimitsAtOnceEvictsItself) {
  struct Row {
    const char* what;
    Algorithm denied, flood;
    std::int64_t denied_hours, flood_hours;
    std::uint64_t flood_keys;
  };
  constexpr Algorithm kBucket = Algorithm::kGcra, kLog = Algorithm::kSlidingLog;
  const Row rows[] = {
      {"equal limits", kBucket, kBucket, 24, 24, 50'000},
      {"a flood that is free sooner", kBucket, kBucket, 24, 1, 50'000},
      {"a flood that is free later", kBucket, kBucket, 1, 24, 50'000},
      {"a flood of logs", kBucket, kLog, 24, 24, 20'000},
      {"denied logs", kLog, kBucket, 24, 24, 50'000},
      {"denied logs and a flood of logs", kLog, kLog, 24, 24, 20'000},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(row.what);
    MemoryStore store(clock_, params_, {.bytes_max = kBytesMax});
    const ParamsId denied = limit(row.denied, 5, row.denied_hours * kHour);
    const ParamsId exhausted = limit(row.flood, 5, row.flood_hours * kHour);
    for (std::uint64_t n = 0; n < 200; ++n) charge(store, key("denied ", n), denied, 5);
    for (std::uint64_t n = 0; n < row.flood_keys; ++n) {
      clock_.advance(1'000);
      ASSERT_TRUE(charge(store, key("flood ", n), exhausted, 5));
    }
    EXPECT_GT(store.stats().evicted_over_limit, 5'000u);
    EXPECT_LE(store.stats().bytes, kBytesMax);
    for (std::uint64_t n = 0; n < 200; ++n) EXPECT_FALSE(charge(store, key("denied ", n), denied, 5)) << n;
  }
}

TEST_F(EvictionTest, AFloodOfKeysThatWereOnlyDeniedEvictsNothingButItself) {
  const ParamsId million = limit(Algorithm::kGcra, 1'000'000, kHour),
                 leaky = limit(Algorithm::kLeakyBucket, 10, kHour);
  flood("hardly used ", kKeysThatFit / 8, million, 1);
  flood("denied ", 4 * kKeysThatFit, leaky, 11);
  EXPECT_GT(store_.stats().evicted_idle, 2 * kKeysThatFit) << "what they were denied was remembered";
  EXPECT_EQ(store_.stats().evicted_in_use, 0u);
  EXPECT_LE(store_.stats().bytes, kBytesMax);
  for (std::uint64_t n = 0; n < kKeysThatFit / 8; ++n)
    ASSERT_FALSE(charge(key("hardly used ", n), million, 1'000'000)) << n;
}

TEST_F(EvictionTest, TheNewestKeyIsLimitedAlsoWhenAllOthersAreOverTheirLimits) {
  for (const Algorithm algorithm : {Algorithm::kGcra, Algorithm::kSlidingLog}) {
    SCOPED_TRACE(to_string(algorithm));
    const ParamsId one = limit(algorithm, 1, kHour);
    flood("full ", kKeysThatFit, one, 1);
    for (std::uint64_t n = 0; n < 1'000; ++n) {
      ASSERT_TRUE(charge(key("new ", n), one, 1)) << n;
      ASSERT_FALSE(charge(key("new ", n), one, 1)) << n;
    }
    clock_.advance(2 * kHour);
  }
}

TEST_F(EvictionTest, LogsCountAgainstTheBudget) {
  const ParamsId log = limit(Algorithm::kSlidingLog, 100, kHour);
  std::uint64_t bytes_most = 0;
  for (std::uint64_t n = 0; n < 20'000; ++n) {
    for (int i = 0; i < 8; ++i) {
      clock_.advance(1);
      charge(key("log ", n), log, 1);
    }
    bytes_most = std::max(bytes_most, store_.stats().bytes);
  }
  EXPECT_LE(bytes_most, kBytesMax);
  EXPECT_GT(store_.stats().evicted_in_use, 1'000u);
}

TEST_F(EvictionTest, LogsTakeTheMemoryOfCountersThatUsedLess) {
  const ParamsId thousand = limit(Algorithm::kGcra, 1'000, 24 * kHour);
  const ParamsId login = limit(Algorithm::kSlidingLog, 5, 24 * kHour);
  flood("hardly used ", kKeysThatFit, thousand, 1);
  for (int round = 0; round < 5; ++round) {
    for (std::uint64_t n = 0; n < 2'000; ++n) {
      clock_.advance(1);
      ASSERT_TRUE(charge(key("login ", n), login, 1)) << n;
    }
    EXPECT_LE(store_.stats().bytes, kBytesMax);
  }
  for (std::uint64_t n = 0; n < 2'000; ++n) EXPECT_FALSE(charge(key("login ", n), login, 1)) << n;
  EXPECT_GT(store_.stats().keys, kKeysThatFit / 4) << "no more go than need be";
}

TEST_F(EvictionTest, ALargeLogTakesItsMemoryFromAllShards) {
  const ParamsId thousand = limit(Algorithm::kGcra, 1'000, 24 * kHour),
                 one = limit(Algorithm::kGcra, 1, kHour);
  const ParamsId large = limit(Algorithm::kSlidingLog, 4'096, 24 * kHour);
  flood("denied ", 1'000, one, 1);
  flood("hardly used ", kKeysThatFit, thousand, 1);
  for (int i = 0; i < 4'096; ++i) {
    clock_.advance(1);
    for (std::uint64_t n = 0; n < 4; ++n) ASSERT_TRUE(charge(key("large ", n), large, 1));
  }
  for (std::uint64_t n = 0; n < 4; ++n) EXPECT_FALSE(charge(key("large ", n), large, 1));
  EXPECT_LE(store_.stats().bytes, kBytesMax);
  EXPECT_EQ(store_.stats().evicted_over_limit, 0u);
  for (std::uint64_t n = 0; n < 1'000; ++n) EXPECT_FALSE(charge(key("denied ", n), one, 1)) << n;
}

TEST_F(EvictionTest, ALogIsKeptAlsoWhenOtherCountersHaveTakenAllMemory) {
  const ParamsId ten = limit(Algorithm::kGcra, 10, kHour), log = limit(Algorithm::kSlidingLog, 2, kHour);
  flood("full ", 2 * kKeysThatFit, ten, 10);
  charge(key("log ", 1), log, 1);
  clock_.advance(1);
  EXPECT_TRUE(charge(key("log ", 1), log, 1));
  EXPECT_FALSE(charge(key("log ", 1), log, 1));
}

}  // namespace
}  // namespace sluice

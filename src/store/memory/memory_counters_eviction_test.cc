#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "algorithm/testing/every_algorithm.h"
#include "base/clock.h"
#include "store/memory/memory_counters.h"

namespace sluice {
namespace {

constexpr std::int64_t kSecond = 1'000'000, kHour = 3600 * kSecond;

// A store of 1 MiB, which holds about 20,000 counters, and floods of many more.
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
  Verdict apply(const std::vector<Charge>& charges) {
    std::vector<ChargeResult> results(charges.size());
    std::int64_t now_us = 0;
    return counters_.apply(charges, results, now_us);
  }
  Verdict charge(const KeyHash& key, ParamsId params, std::int64_t cost) {
    return apply({{key, params, cost}});
  }
  std::int64_t left(const KeyHash& key, ParamsId params) {
    const Charge look{key, params, 0};
    ChargeResult result;
    std::int64_t now_us = 0;
    EXPECT_EQ(counters_.apply({&look, 1}, {&result, 1}, now_us), Verdict::kAllowed);
    return result.outcome.remaining;
  }
  // Returns how many of them were allowed.
  std::uint64_t flood(std::string_view kind, std::uint64_t keys, ParamsId params, std::int64_t cost) {
    std::uint64_t allowed = 0;
    for (std::uint64_t n = 0; n < keys; ++n)
      allowed += charge(key(kind, n), params, cost) == Verdict::kAllowed;
    return allowed;
  }

  KeyHasher hash_ = KeyHasher::from_text("eviction");
  ManualClock clock_{1'800'000'000'000'000};
  ParamsTable params_;
  MemoryCounters counters_{clock_, params_, {.bytes_max = kBytesMax}};
};

TEST_F(EvictionTest, AFloodStaysWithinTheBudget) {
  const ParamsId ten = limit(Algorithm::kGcra, 10, kHour), log = limit(Algorithm::kSlidingLog, 10, kHour);
  for (int wave = 0; wave < 4; ++wave) {
    flood("wave " + std::to_string(wave) + " ", kKeysThatFit, wave % 2 == 0 ? ten : log, 1);
    EXPECT_LE(counters_.stats().bytes, kBytesMax);
  }
  EXPECT_GT(counters_.stats().keys, kKeysThatFit / 2);
  EXPECT_GT(counters_.stats().no_room, 2 * kKeysThatFit);
}

TEST_F(EvictionTest, AKeyInUseKeepsWhatItUsedWhateverFloods) {
  for (const std::int64_t flood_cost : {1, 10}) {
    for (const Algorithm algorithm : kEveryAlgorithm) {
      const ParamsId ten = limit(algorithm, 10, 24 * kHour);
      const std::string name(to_string(algorithm));
      for (std::uint64_t n = 0; n < 50; ++n) {
        ASSERT_EQ(charge(key(name + " nearly ", n), ten, 9), Verdict::kAllowed);
        ASSERT_EQ(charge(key(name + " denied ", n), ten, 10), Verdict::kAllowed);
      }
    }
    flood("new ", 3 * kKeysThatFit, limit(Algorithm::kGcra, 10, 24 * kHour), flood_cost);
    flood("new log ", kKeysThatFit, limit(Algorithm::kSlidingLog, 10, 24 * kHour), flood_cost);
    ASSERT_GT(counters_.stats().no_room, kKeysThatFit);
    for (const Algorithm algorithm : kEveryAlgorithm) {
      const std::string name(to_string(algorithm));
      SCOPED_TRACE(name);
      const ParamsId ten = limit(algorithm, 10, 24 * kHour);
      for (std::uint64_t n = 0; n < 50; ++n) {
        EXPECT_NE(charge(key(name + " nearly ", n), ten, 2), Verdict::kAllowed) << n;
        EXPECT_EQ(left(key(name + " nearly ", n), ten), 1) << n;
        EXPECT_EQ(charge(key(name + " denied ", n), ten, 1), Verdict::kDenied) << n;
      }
    }
    clock_.advance(50 * 24 * kHour);
  }
}

TEST_F(EvictionTest, WithoutRoomNothingIsChargedAndAllElseGoesOn) {
  const ParamsId ten = limit(Algorithm::kGcra, 10, kHour);
  flood("new ", kKeysThatFit, ten, 1);
  EXPECT_EQ(charge(key("late ", 0), ten, 1), Verdict::kNoRoom);
  EXPECT_EQ(charge(key("late ", 0), ten, 11), Verdict::kDenied) << "it would be denied anyway";
  EXPECT_EQ(left(key("late ", 0), ten), 10) << "a look is answered";
  EXPECT_EQ(counters_.no_room_at_us(), clock_.now_us());

  const ParamsId log = limit(Algorithm::kSlidingLog, 10, kHour);
  for (const Charge& late : {Charge{key("late ", 0), ten, 1}, {key("late log ", 0), log, 1}}) {
    EXPECT_EQ(apply({{key("new ", 0), ten, 1}, late}), Verdict::kNoRoom);
    EXPECT_EQ(apply({late, {key("new ", 0), ten, 1}}), Verdict::kNoRoom);
    EXPECT_EQ(left(key("new ", 0), ten), 9) << "all or nothing";
  }
  EXPECT_EQ(apply({{key("new ", 0), ten, 10}, {key("late ", 0), ten, 1}}), Verdict::kDenied);
  EXPECT_EQ(apply({{key("new ", 0), ten, 1}, {key("new ", 1), ten, 1}}), Verdict::kAllowed);
  EXPECT_EQ(left(key("new ", 0), ten), 8);
}

TEST_F(EvictionTest, ADenialThatCannotBeCountedIsADenial) {
  const ParamsId ten = limit(Algorithm::kGcra, 10, kHour), leaky = limit(Algorithm::kLeakyBucket, 10, kHour),
                 log = limit(Algorithm::kSlidingLog, 10, kHour);
  flood("new ", kKeysThatFit, ten, 1);
  EXPECT_EQ(charge(key("late ", 0), leaky, 11), Verdict::kDenied);
  for (const ParamsId params : {ten, leaky, log}) {
    EXPECT_EQ(apply({{key("late ", 0), params, 11, OnDenial::kCharge}}), Verdict::kDenied);
    EXPECT_EQ(apply({{key("late ", 0), params, 11, OnDenial::kCharge}, {key("new ", 0), ten, 1}}),
              Verdict::kDenied);
    EXPECT_EQ(left(key("late ", 0), params), 10);
  }
}

TEST_F(EvictionTest, IdleKeysMakeRoomAsSoonAsTheyAreIdle) {
  for (const Algorithm algorithm : kEveryAlgorithm) {
    SCOPED_TRACE(to_string(algorithm));
    const ParamsId brief = limit(algorithm, 10, 60 * kSecond);
    const std::string name(to_string(algorithm));
    const std::uint64_t fit = flood(name + " ", kKeysThatFit, brief, 10);
    ASSERT_LT(fit, kKeysThatFit);
    ASSERT_EQ(charge(key(name + " late ", 0), brief, 10), Verdict::kNoRoom);
    const bool is_window = algorithm == Algorithm::kFixedWindow || algorithm == Algorithm::kSlidingWindow;
    clock_.advance((is_window ? 120 : 60) * kSecond);
    // Each shard searches on its own; some keys may be answered "no room" before its turn comes.
    EXPECT_GT(flood(name + " late ", fit / 2, brief, 10), fit / 2 * 99 / 100);
    EXPECT_EQ(flood(name + " late ", 1, brief, 10), 0u) << "and what took their place is kept";
    clock_.advance(120 * kSecond);
  }
}

TEST_F(EvictionTest, TheFirstKeyAfterAVainSearchFindsTheFirstThatIsIdle) {
  const ParamsId ten = limit(Algorithm::kGcra, 10, 10 * kHour), brief = limit(Algorithm::kGcra, 1, kHour);
  flood("new ", kKeysThatFit, ten, 10);
  for (std::uint64_t n = 0; n < 10'000; ++n)
    ASSERT_EQ(charge(key("late ", n), ten, 1), Verdict::kNoRoom) << "each has looked, or knew better";
  ASSERT_EQ(counters_.reset({std::vector{key("new ", 0)}}), 1);
  std::uint64_t late = 0;
  while (charge(key("late ", late), brief, 1) != Verdict::kAllowed) ASSERT_LT(++late, 1'000u);
  EXPECT_EQ(charge(key("late ", late), brief, 1), Verdict::kDenied);
  clock_.advance(kHour);
  std::uint64_t tries = 0;
  while (flood("latest " + std::to_string(tries) + " ", 100, ten, 1) == 0) ASSERT_LT(++tries, 1'000u);
}

TEST_F(EvictionTest, AFloodOfKeysThatWereOnlyDeniedEvictsNothingButItself) {
  const ParamsId million = limit(Algorithm::kGcra, 1'000'000, kHour),
                 leaky = limit(Algorithm::kLeakyBucket, 10, kHour);
  flood("hardly used ", kKeysThatFit / 8, million, 1);
  flood("denied ", 4 * kKeysThatFit, leaky, 11);
  EXPECT_GT(counters_.stats().evicted_idle, 2 * kKeysThatFit) << "what they were denied was remembered";
  EXPECT_GT(flood("new ", kKeysThatFit / 4, million, 1), kKeysThatFit / 4 * 99 / 100)
      << "and does not stand in the way";
  for (std::uint64_t n = 0; n < kKeysThatFit / 8; ++n)
    ASSERT_EQ(left(key("hardly used ", n), million), 999'999);
}

TEST_F(EvictionTest, ALogThatCannotGrowStaysAsItIs) {
  const ParamsId ten = limit(Algorithm::kGcra, 10, kHour), log = limit(Algorithm::kSlidingLog, 4'096, kHour);
  const auto fill_up = [&] { flood("new ", 2 * kKeysThatFit, ten, 1); };
  std::int64_t used = 0;
  fill_up();
  ASSERT_EQ(charge(key("log ", 0), log, 1), Verdict::kNoRoom) << "not even the first entry";
  clock_.advance(2 * kHour);
  for (int i = 0; i < 5; ++i, ++used, clock_.advance(1))
    ASSERT_EQ(charge(key("log ", 0), log, 1), Verdict::kAllowed);
  fill_up();
  for (; charge(key("log ", 0), log, 1) == Verdict::kAllowed; ++used, clock_.advance(1))
    ASSERT_LT(used, 4'096);
  EXPECT_EQ(charge(key("log ", 0), log, 1), Verdict::kNoRoom);
  EXPECT_EQ(apply({{key("new ", 0), ten, 1}, {key("log ", 0), log, 1}}), Verdict::kNoRoom);
  EXPECT_EQ(charge(key("log ", 0), log, 4'096), Verdict::kDenied);
  EXPECT_EQ(apply({{key("log ", 0), log, 4'096, OnDenial::kCharge}}), Verdict::kDenied);
  EXPECT_EQ(left(key("log ", 0), log), 4'096 - used);
  EXPECT_LE(counters_.stats().bytes, kBytesMax);
}

TEST_F(EvictionTest, LogsTakeTheMemoryOfIdleCountersOfAllShards) {
  const ParamsId brief = limit(Algorithm::kGcra, 1'000, kSecond), one = limit(Algorithm::kGcra, 1, kHour);
  const ParamsId large = limit(Algorithm::kSlidingLog, 4'096, 24 * kHour);
  flood("denied ", 1'000, one, 1);
  flood("hardly used ", kKeysThatFit, brief, 1'000);
  clock_.advance(kSecond);
  for (int i = 0; i < 4'096; ++i) {
    clock_.advance(1);
    for (std::uint64_t n = 0; n < 4; ++n)
      ASSERT_EQ(charge(key("large ", n), large, 1), Verdict::kAllowed) << i;
  }
  for (std::uint64_t n = 0; n < 4; ++n) EXPECT_EQ(charge(key("large ", n), large, 1), Verdict::kDenied);
  EXPECT_LE(counters_.stats().bytes, kBytesMax);
  for (std::uint64_t n = 0; n < 1'000; ++n)
    EXPECT_EQ(charge(key("denied ", n), one, 1), Verdict::kDenied) << n;
}

TEST_F(EvictionTest, NewCountersTakeTheMemoryThatIdleLogsHeld) {
  const ParamsId log = limit(Algorithm::kSlidingLog, 50, kHour), ten = limit(Algorithm::kGcra, 10, kHour);
  for (int i = 0; i < 50; ++i, clock_.advance(1)) flood("log ", kKeysThatFit / 16, log, 1);
  ASSERT_GT(counters_.stats().no_room, 0u);
  clock_.advance(2 * kHour);
  const std::uint64_t refused_before = counters_.stats().no_room;
  flood("new ", kKeysThatFit / 2, ten, 1);
  EXPECT_LT(counters_.stats().no_room - refused_before, kKeysThatFit / 64);
}

// If few counters hold all the memory, no page becomes free, only the memory of their logs.
TEST_F(EvictionTest, WhoNeedsTheMemoryOfAnIdleLogGetsItAtOnce) {
  MemoryCounters one_shard{clock_, params_, {.bytes_max = kBytesMax, .shards = 1}};
  const ParamsId large = limit(Algorithm::kSlidingLog, 4'096, kHour);
  const auto charge_log = [&](std::uint64_t n) {
    const Charge one{key("log ", n), large, 1};
    ChargeResult result;
    std::int64_t now_us = 0;
    clock_.advance(1);
    return one_shard.apply({&one, 1}, {&result, 1}, now_us);
  };
  const auto fill = [&](std::uint64_t n) {
    Verdict verdict;
    do verdict = charge_log(n);
    while (verdict == Verdict::kAllowed);
    return verdict;
  };
  std::uint64_t logs = 0;
  while (fill(logs) != Verdict::kNoRoom) ASSERT_LT(++logs, 100u);
  clock_.advance(kHour / 2);
  ASSERT_EQ(fill(logs + 1), Verdict::kNoRoom) << "what was left is taken";
  clock_.advance(kHour / 2);
  EXPECT_EQ(charge_log(logs + 1), Verdict::kAllowed) << "the others are idle, it is not";
}

TEST_F(EvictionTest, EveryByteComesBack) {
  const std::uint64_t bytes_at_start = counters_.stats().bytes;
  const ParamsId log = limit(Algorithm::kSlidingLog, 20, kHour),
                 other = limit(Algorithm::kSlidingLog, 4, kHour), ten = limit(Algorithm::kGcra, 10, kHour);
  for (int round = 0; round < 30; ++round) {  // logs grow, change their limits and kinds, and are refunded
    clock_.advance(1);
    for (std::uint64_t n = 0; n < 2'000; ++n) {
      const ParamsId params = (round + n) % 7 == 0 ? ten : (round + n) % 5 == 0 ? other : log;
      const Charge one{key("log ", n), params, 1, n % 3 == 0 ? OnDenial::kCharge : OnDenial::kFree};
      ChargeResult result;
      std::int64_t now_us = 0;
      const Verdict verdict = counters_.apply({&one, 1}, {&result, 1}, now_us);
      if (verdict == Verdict::kAllowed && n % 11 == 0)
        counters_.refund({&one, 1}, {&result, 1}, now_us, now_us);
      if (n % 97 == 0) counters_.reset({&one.key, 1});
    }
  }
  EXPECT_GT(counters_.stats().bytes, bytes_at_start + 2'000 * 40);
  clock_.advance(50 * kHour);
  for (int i = 0; i < 1'000; ++i) counters_.tend();
  EXPECT_EQ(counters_.stats().keys, 0u);
  EXPECT_EQ(counters_.stats().bytes, bytes_at_start);
}

// Logs in chosen shards, so that they, and nothing else, take the memory.
class ReliefTest : public EvictionTest {
 protected:
  static constexpr std::uint32_t kShards = 16;
  static constexpr std::int64_t kEntries = 512;

  static KeyHash in_shard(std::uint64_t shard, std::uint64_t n) {
    return {.high = (n + 1) * 0x9e37'79b9'7f4a'7c15, .low = shard};
  }
  Verdict charge_log(const KeyHash& log, ParamsId params) {
    clock_.advance(1);
    const Charge one{log, params, 1};
    ChargeResult result;
    std::int64_t now_us = 0;
    return sharded_.apply({&one, 1}, {&result, 1}, now_us);
  }
  // Fills logs, shard by shard in turn, until there is no memory left. Returns how many there are in each.
  std::uint64_t fill_up(const std::function<ParamsId(std::uint64_t shard)>& params_of) {
    const auto fill = [&](std::uint64_t shard, std::uint64_t n) {
      for (std::int64_t i = 0; i < kEntries; ++i)
        if (charge_log(in_shard(shard, n), params_of(shard)) == Verdict::kNoRoom) return false;
      return true;
    };
    std::uint64_t logs = 0;
    while (fill(logs % kShards, logs / kShards)) ++logs;
    for (std::uint64_t n = 100; charge_log(in_shard(3, n), params_of(3)) != Verdict::kNoRoom;) ++n;
    return logs / kShards;
  }

  MemoryCounters sharded_{clock_, params_, {.bytes_max = kBytesMax, .shards = kShards}};
};

TEST_F(ReliefTest, ACheckFreesWhatItMayNeedAndNoMore) {
  const ParamsId log = limit(Algorithm::kSlidingLog, kEntries, kHour);
  const std::uint64_t in_each = fill_up([&](std::uint64_t) { return log; });
  ASSERT_GE(in_each, 5u) << "the logs of one shard are more than a check may need";
  EXPECT_EQ(sharded_.stats().evicted_idle, 0u) << "all are in use";
  clock_.advance(2 * kHour);
  const std::uint64_t bytes = sharded_.stats().bytes,
                      in_a_shard = (in_each + 2) * kEntries * sizeof(LogEntry);
  EXPECT_EQ(charge_log(in_shard(3, 10'000), log), Verdict::kAllowed);
  EXPECT_LT(sharded_.stats().bytes, bytes);
  EXPECT_GT(sharded_.stats().bytes, bytes - 2 * in_a_shard) << "of the first shard or two that were asked";
}

TEST_F(ReliefTest, EachShardIsAskedInItsTurn) {
  constexpr std::uint64_t kIdle = 9;
  const ParamsId lasting = limit(Algorithm::kSlidingLog, kEntries, 24 * kHour),
                 brief = limit(Algorithm::kSlidingLog, kEntries, kHour);
  const std::uint64_t in_each =
      fill_up([&](std::uint64_t shard) { return shard == kIdle ? brief : lasting; });
  clock_.advance(2 * kHour);
  const std::uint64_t keys = sharded_.stats().keys;
  std::uint32_t tries = 0;
  while (charge_log(in_shard(3, 10'000), lasting) == Verdict::kNoRoom)
    ASSERT_LT(++tries, kShards) << "some shards are asked by each check, the next by the next";
  EXPECT_GE(sharded_.stats().evicted_idle, in_each);
  EXPECT_LE(sharded_.stats().evicted_idle, in_each + 1) << "none but the idle ones";
  EXPECT_EQ(sharded_.stats().keys, keys - sharded_.stats().evicted_idle + 1);
}

}  // namespace
}  // namespace sluice

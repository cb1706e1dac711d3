// Counters in memory that are checked under changing numbers.
#include <gtest/gtest.h>

#include <string>

#include "base/clock.h"
#include "base/testing/seed.h"
#include "store/memory/memory_counters.h"
#include "store/testing/used_stays_used.h"

namespace sluice {
namespace {

constexpr std::int64_t kDay = 86'400'000'000;

class MemoryNumbers : public testing::TestWithParam<Algorithm> {
 protected:
  ParamsId limit(std::int64_t count, std::int64_t scale = 0) {
    LimitParams numbers = make_limit_params(GetParam(), {count, kDay}, {}).value();
    numbers.scale = scale;
    return params_.intern(numbers);
  }
  // How many of `asked` checks are admitted.
  int admitted(ParamsId params, int asked) {
    int count = 0;
    for (int i = 0; i < asked; ++i) count += check({key_, params, 1});
    return count;
  }
  bool check(const Charge& charge) {
    ChargeResult result;
    std::int64_t now_us = 0;
    return counters_.apply({&charge, 1}, {&result, 1}, now_us) == Verdict::kAllowed;
  }
  UsedStaysUsed::StoreUnderTest under_test() {
    return {.params = params_,
            .check =
                [&](const Charge& charge, ChargeResult& result) {
                  std::int64_t now_us = 0;
                  if (charge.cost > 0) counters_.tend();
                  return counters_.apply({&charge, 1}, {&result, 1}, now_us) == Verdict::kAllowed;
                },
            .refund =
                [&](const Charge& charge, ChargeResult& result, std::int64_t granted_at_us) {
                  std::int64_t now_us = 0;
                  counters_.refund({&charge, 1}, {&result, 1}, granted_at_us, now_us);
                },
            .bytes = [&](const KeyHash& key) { return counters_.bytes_of(key); },
            .now_us = [&] { return clock_.now_us(); },
            .advance = [&](std::int64_t us) { clock_.advance(us); }};
  }

  ManualClock clock_{1'800'000'000'000'000 / kDay * kDay};
  ParamsTable params_;
  MemoryCounters counters_{clock_, params_, {.bytes_max = 4 << 20}};
  KeyHash key_{1, 2};
};

TEST_P(MemoryNumbers, ALookUnderASmallerLimitGivesNothingBack) {
  const ParamsId hundred = limit(100), one = limit(1);
  EXPECT_EQ(admitted(hundred, 150), 100);
  for (int round = 0; round < 3; ++round) {
    EXPECT_EQ(check({key_, one, 0}), true);
    EXPECT_EQ(admitted(one, 3), 0);
    EXPECT_EQ(admitted(hundred, 150), 0) << round;
  }
}

TEST_P(MemoryNumbers, ChoosingAmongTiersGivesTheLargestOfThem) {
  const ParamsId tiers[] = {limit(200), limit(150), limit(100)};
  int sum = 0;
  for (int round = 0; round < 6; ++round)
    for (const ParamsId tier : tiers) sum += admitted(tier, 250);
  EXPECT_EQ(sum, 200);
}

TEST_P(MemoryNumbers, VersionsOfOtherScalesSideBySideGiveOneLimit) {
  const ParamsId large = limit(200, 200), small = limit(100, 100), tier = limit(50, 100);
  EXPECT_EQ(admitted(large, 100), 100) << "half of it";
  EXPECT_EQ(admitted(small, 100), 50) << "the other half";
  for (int round = 0; round < 3; ++round) {
    EXPECT_EQ(admitted(tier, 50), 0);
    EXPECT_EQ(admitted(large, 50), 0);
    EXPECT_EQ(admitted(small, 50), 0);
  }
}

TEST_P(MemoryNumbers, ARaisedLimitHelpsHimWhoCameTooEarly) {
  if (GetParam() > Algorithm::kLeakyBucket) return;  // a window's end does not move
  const auto slow = params_.intern(make_limit_params(GetParam(), {1, kDay}, 1).value());
  const auto fast = params_.intern(make_limit_params(GetParam(), {86'400, kDay}, 1).value());
  EXPECT_TRUE(check({key_, slow, 1}));
  EXPECT_FALSE(check({key_, fast, 1}));
  clock_.advance(1'000'000);
  EXPECT_TRUE(check({key_, fast, 1})) << "not after a day";
}

TEST_P(MemoryNumbers, WhatWasUsedStaysUsedWhateverComes) {
  const std::uint64_t seed = test_seed();
  SCOPED_TRACE("SLUICE_SEED=" + std::to_string(seed));
  UsedStaysUsed lives(under_test(), seed);
  for (int life = 0; life < 60 && !HasFailure(); ++life) lives.live(GetParam(), life % 3 == 2, 150);
}

TEST_P(MemoryNumbers, TiersOfAnyKindAddUpToNoMoreThanTheirBound) {
  const std::uint64_t seed = test_seed();
  SCOPED_TRACE("SLUICE_SEED=" + std::to_string(seed));
  UsedStaysUsed lives(under_test(), seed + static_cast<std::uint64_t>(GetParam()));
  for (int life = 0; life < 60 && !HasFailure(); ++life) lives.live_mixed(150);
}

INSTANTIATE_TEST_SUITE_P(Every, MemoryNumbers,
                         testing::Values(Algorithm::kGcra, Algorithm::kTokenBucket, Algorithm::kLeakyBucket,
                                         Algorithm::kFixedWindow, Algorithm::kSlidingWindow,
                                         Algorithm::kSlidingLog),
                         [](const auto& algorithm) { return std::string(to_string(algorithm.param)); });

}  // namespace
}  // namespace sluice

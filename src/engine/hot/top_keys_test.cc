#include "engine/hot/top_keys.h"

#include <gtest/gtest.h>

#include "base/testing/seed.h"

namespace sluice {
namespace {

struct Nothing {};

KeyHash key_of(std::uint64_t number) {
  SampleRandom random(number);
  const std::uint64_t high = random.next();
  return {high, random.next()};
}

TEST(TopKeysTest, KeysThatFitAreCountedExactly) {
  SampleRandom random(test_seed());
  TopKeys<Nothing> keys(64);
  for (int round = 0; round < 10; ++round)
    for (std::uint64_t i = 0; i < 8; ++i) EXPECT_NE(keys.add(key_of(i), 2, random).slot, nullptr);
  for (std::uint64_t i = 0; i < 8; ++i) {
    ASSERT_NE(keys.find(key_of(i)), nullptr);
    EXPECT_EQ(keys.find(key_of(i))->own(), 20);
  }
  EXPECT_EQ(keys.find(key_of(99)), nullptr);
}

// 1 % of the stream is one key, the rest are keys that never come again.
TEST(TopKeysTest, AFloodOfDistinctKeysDoesNotEvictABusyOne) {
  const std::uint64_t seed = test_seed();
  SCOPED_TRACE(seed);
  SampleRandom random(seed);
  TopKeys<Nothing> keys(64);
  const KeyHash whale = key_of(1);
  int missing = 0;
  for (std::uint64_t i = 0; i < 1'000'000; ++i) {
    if (i % 100 == 0) {
      keys.add(whale, 1, random);
      if (i >= 100'000 && !keys.find(whale)) ++missing;
    }
    keys.add(key_of(100 + i), 1, random);
  }
  EXPECT_LE(missing, 0);
  ASSERT_NE(keys.find(whale), nullptr);
  EXPECT_GE(keys.find(whale)->own(), 9'000);
  for (const auto& slot : keys.slots())
    if (slot.key != whale) EXPECT_LE(slot.own(), 2) << "a key is not charged with what others did";
}

TEST(TopKeysTest, ANewBusyKeyIsInSoonAfterAFlood) {
  const std::uint64_t seed = test_seed();
  SCOPED_TRACE(seed);
  SampleRandom random(seed);
  TopKeys<Nothing> keys(64);
  for (std::uint64_t i = 0; i < 20'000; ++i) keys.add(key_of(100 + i), 1, random);
  // The lightest weighs about √(2 × 20,000 ÷ 64) = 25, so an attempt succeeds with 4 %.
  int attempts = 0;
  while (!keys.add(key_of(1), 1, random).slot) ++attempts;
  EXPECT_LE(attempts, 1'000);
}

TEST(TopKeysTest, ScaledWeightsKeepTheirOrderAndClearedOnesAreFree) {
  SampleRandom random(test_seed());
  TopKeys<Nothing> keys(8);
  keys.add(key_of(1), 8, random);
  keys.add(key_of(2), 4, random);
  keys.scale(0.5);
  EXPECT_EQ(keys.find(key_of(1))->own(), 4);
  EXPECT_EQ(keys.find(key_of(2))->own(), 2);
  keys.clear();
  EXPECT_EQ(keys.find(key_of(1)), nullptr);
}

}  // namespace
}  // namespace sluice

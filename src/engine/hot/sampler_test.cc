#include "engine/hot/sampler.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/testing/seed.h"

namespace sluice {
namespace {

struct Counted {
  std::int64_t picked = 0;
  double weight = 0;
};

// So many checks in each of the next seconds, with a tick every ten milliseconds.
Counted run(Sampler& sampler, std::int64_t& now_us, std::int64_t per_second, int seconds) {
  Counted counted;
  for (int tick = 0; tick < 100 * seconds; ++tick) {
    for (std::int64_t i = 0; i < per_second / 100; ++i) {
      if (!sampler.picks()) continue;
      ++counted.picked;
      counted.weight += sampler.weight();
    }
    sampler.tick(now_us += 10'000);
  }
  return counted;
}

TEST(SamplerTest, FewChecksAreAllPicked) {
  Sampler sampler(test_seed());
  std::int64_t now_us = kSecondUs;
  const Counted counted = run(sampler, now_us, 5'000, 2);
  EXPECT_EQ(counted.picked, 10'000);
  EXPECT_EQ(counted.weight, 10'000);
}

TEST(SamplerTest, OfManyChecksABoundedNumberIsPickedAndStandsForAll) {
  const std::uint64_t seed = test_seed();
  SCOPED_TRACE(seed);
  for (const std::int64_t per_second : {50'000, 1'000'000, 3'000'000}) {
    Sampler sampler(seed);
    std::int64_t now_us = kSecondUs;
    run(sampler, now_us, per_second, 1);
    const Counted counted = run(sampler, now_us, per_second, 3);
    EXPECT_LE(counted.picked, 3 * Sampler::kPerSecond * 11 / 10);
    EXPECT_GE(counted.picked, 3 * Sampler::kPerSecond / 2);
    EXPECT_NEAR(counted.weight, static_cast<double>(3 * per_second),
                static_cast<double>(3 * per_second) * 0.05);
  }
}

TEST(SamplerTest, ABurstAfterSilenceIsBoundedBeforeTheClockMoves) {
  Sampler sampler(test_seed());
  sampler.tick(kSecondUs);
  std::int64_t picked = 0;
  for (int i = 0; i < 10'000'000; ++i) picked += sampler.picks() ? 1 : 0;
  EXPECT_LE(picked, 10'000);
}

// Traffic in a rhythm: every second check is the whale's.
TEST(SamplerTest, ARhythmIsNotMisjudged) {
  const std::uint64_t seed = test_seed();
  SCOPED_TRACE(seed);
  Sampler sampler(seed);
  double whale = 0, all = 0;
  for (std::int64_t i = 0, now_us = kSecondUs; i < 4'000'000; ++i) {
    if (i % 2'000 == 0) sampler.tick(now_us += 10'000);
    if (!sampler.picks()) continue;
    all += sampler.weight();
    if (i % 2 == 0) whale += sampler.weight();
  }
  EXPECT_NEAR(whale / all, 0.5, 0.02);
}

}  // namespace
}  // namespace sluice

#include "base/clock.h"

#include <gtest/gtest.h>

#include "base/coarse_clock.h"

namespace sluice {
namespace {

TEST(SystemClock, StartsAtWallTimeAndNeverStepsBack) {
  SystemClock clock;
  std::int64_t last_us = clock.now_us();
  EXPECT_GT(last_us, 1'700'000'000'000'000);  // later than 2023: it is an epoch, not an uptime
  for (int i = 0; i < 10'000; ++i) {
    const std::int64_t now_us = clock.now_us();
    ASSERT_GE(now_us, last_us);
    last_us = now_us;
  }
}

TEST(WallClock, CountsFromTheSameEpoch) {
  EXPECT_GT(WallClock().now_us(), 1'700'000'000'000'000);
  EXPECT_LT(WallClock().now_us(), 1'700'000'000'000'000 * 3);
}

TEST(CoarseClock, IsNeverBehindByMoreThanItSays) {
  const SystemClock exact;
  const CoarseClock coarse(exact);
  std::int64_t last_us = 0;
  for (int i = 0; i < 100'000; ++i) {
    const std::int64_t before_us = exact.now_us();
    const std::int64_t now_us = coarse.now_us();
    ASSERT_GE(now_us + CoarseClock::kLagUs, before_us);
    ASSERT_GE(now_us, last_us);
    last_us = now_us;
  }
}

TEST(ManualClock, MovesOnlyWhenTold) {
  ManualClock clock(1'000);
  clock.advance(500);
  EXPECT_EQ(clock.now_us(), 1'500);
  clock.set(200);
  EXPECT_EQ(clock.now_us(), 200);
}

}  // namespace
}  // namespace sluice

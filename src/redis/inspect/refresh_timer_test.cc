#include "redis/inspect/refresh_timer.h"

#include <gtest/gtest.h>

namespace sluice::redis {
namespace {

constexpr std::int64_t kStart = 1'000'000'000;

RefreshTimer timer() {
  return RefreshTimer({.period_us = 30'000'000, .gap_first_us = 100'000, .gap_max_us = 500'000},
                      [](std::uint64_t below) { return below - 1; });
}

TEST(RefreshTimer, TheFirstTimeIsNow) {
  RefreshTimer t = timer();
  EXPECT_TRUE(t.due(kStart));
  t.begin(kStart);
  EXPECT_FALSE(t.due(kStart + 60'000'000)) << "one at a time";
}

TEST(RefreshTimer, WhenAllIsWellItComesNowAndThen) {
  RefreshTimer t = timer();
  t.begin(kStart);
  t.end(kStart, true);
  EXPECT_FALSE(t.due(kStart + 29'999'999));
  EXPECT_TRUE(t.due(kStart + 30'000'000));
}

TEST(RefreshTimer, AReasonBringsItForwardAndManyReasonsAreOne) {
  RefreshTimer t = timer();
  t.begin(kStart);
  t.end(kStart + 1'000, true);
  for (int i = 0; i < 1000; ++i) t.hurry(kStart + 2'000);
  EXPECT_FALSE(t.due(kStart + 99'999)) << "not in a rush";
  EXPECT_TRUE(t.due(kStart + 100'000));
  t.begin(kStart + 100'000);
  t.end(kStart + 101'000, true);
  t.hurry(kStart + 5'000'000);
  EXPECT_TRUE(t.due(kStart + 5'000'000)) << "at once when the last is long ago";
}

TEST(RefreshTimer, WhatDoesNotHelpIsRepeatedAtGrowingIntervals) {
  RefreshTimer t = timer();
  std::int64_t now_us = kStart;
  for (const std::int64_t gap_us : {200'000, 400'000, 500'000, 500'000}) {
    t.begin(now_us);
    t.end(now_us, false);
    t.hurry(now_us);
    EXPECT_FALSE(t.due(now_us + gap_us - 1));
    EXPECT_TRUE(t.due(now_us + gap_us));
    now_us += gap_us;
  }
  EXPECT_EQ(t.failures(), 4u);
  t.begin(now_us);
  t.end(now_us, true);
  EXPECT_EQ(t.failures(), 0u);
}

TEST(RefreshTimer, IntervalsAreSpread) {
  RefreshTimer t({.period_us = 30'000'000}, [](std::uint64_t) { return 0; });
  t.begin(kStart);
  t.end(kStart, true);
  EXPECT_FALSE(t.due(kStart + 14'999'999));
  EXPECT_TRUE(t.due(kStart + 15'000'000));
}

}  // namespace
}  // namespace sluice::redis

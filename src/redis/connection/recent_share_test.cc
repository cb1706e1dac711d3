#include "redis/connection/recent_share.h"

#include <gtest/gtest.h>

namespace sluice::redis {
namespace {

constexpr std::int64_t kSecond = 1'000'000;

TEST(RecentShareTest, AddsUpWhatIsRecent) {
  RecentShare share(10 * kSecond);
  share.add(5, 1, 100 * kSecond);
  share.add(7, 7, 105 * kSecond);
  EXPECT_EQ(share.sum(109 * kSecond).all, 12u);
  EXPECT_EQ(share.sum(109 * kSecond).bad, 8u);
  EXPECT_EQ(share.sum(110 * kSecond).all, 7u);
  EXPECT_EQ(share.sum(115 * kSecond).all, 0u);
}

TEST(RecentShareTest, ANewPartTakesThePlaceOfTheOldest) {
  RecentShare share(10 * kSecond);
  share.add(5, 5, 100 * kSecond);
  share.add(1, 0, 110 * kSecond);
  EXPECT_EQ(share.sum(110 * kSecond).all, 1u);
  EXPECT_EQ(share.sum(110 * kSecond).bad, 0u);
  share.clear();
  EXPECT_EQ(share.sum(110 * kSecond).all, 0u);
}

}  // namespace
}  // namespace sluice::redis

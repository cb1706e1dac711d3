#include "redis/connection/recent_share.h"

#include <gtest/gtest.h>

#include "base/time_units.h"

namespace sluice::redis {
namespace {

TEST(RecentShareTest, AddsUpWhatIsRecent) {
  RecentShare share(10 * kSecondUs);
  share.add(5, 1, 100 * kSecondUs);
  share.add(7, 7, 105 * kSecondUs);
  EXPECT_EQ(share.sum(109 * kSecondUs).all, 12u);
  EXPECT_EQ(share.sum(109 * kSecondUs).bad, 8u);
  EXPECT_EQ(share.sum(110 * kSecondUs).all, 7u);
  EXPECT_EQ(share.sum(115 * kSecondUs).all, 0u);
}

TEST(RecentShareTest, ANewPartTakesThePlaceOfTheOldest) {
  RecentShare share(10 * kSecondUs);
  share.add(5, 5, 100 * kSecondUs);
  share.add(1, 0, 110 * kSecondUs);
  EXPECT_EQ(share.sum(110 * kSecondUs).all, 1u);
  EXPECT_EQ(share.sum(110 * kSecondUs).bad, 0u);
  share.clear();
  EXPECT_EQ(share.sum(110 * kSecondUs).all, 0u);
}

}  // namespace
}  // namespace sluice::redis

#include "store/redis/backend/trouble_news.h"

#include <gtest/gtest.h>

#include "base/time_units.h"

namespace sluice {
namespace {

TEST(TroubleNewsTest, BeginningAndEndAreNews) {
  TroubleNews news;
  EXPECT_FALSE(news.is_news("", 0));
  EXPECT_TRUE(news.is_news("gone", 0));
  EXPECT_FALSE(news.is_news("gone", 60 * kSecondUs));
  EXPECT_TRUE(news.is_news("", 60 * kSecondUs));
  EXPECT_FALSE(news.is_news("", 60 * kSecondUs));
}

TEST(TroubleNewsTest, AnotherTroubleIsNewsAfterTenSeconds) {
  TroubleNews news;
  EXPECT_TRUE(news.is_news("gone", 0));
  EXPECT_FALSE(news.is_news("wrong password", 10 * kSecondUs - 1));
  EXPECT_TRUE(news.is_news("wrong password", 10 * kSecondUs));
}

TEST(TroubleNewsTest, TroublesThatComeAndGoAreToldRarely) {
  TroubleNews news;
  int lines = 0;
  for (std::int64_t now_us = 0; now_us < 60 * kSecondUs; now_us += kSecondUs) {
    lines += news.is_news("gone", now_us) ? 1 : 0;
    lines += news.is_news("", now_us + kSecondUs / 2) ? 1 : 0;
  }
  EXPECT_EQ(lines, 12) << "six times the beginning, and its end";
}

}  // namespace
}  // namespace sluice

#include "store/redis/backend/trouble_news.h"

#include <gtest/gtest.h>

namespace sluice {
namespace {

constexpr std::int64_t kSecond = 1'000'000;

TEST(TroubleNewsTest, BeginningAndEndAreNews) {
  TroubleNews news;
  EXPECT_FALSE(news.is_news("", 0));
  EXPECT_TRUE(news.is_news("gone", 0));
  EXPECT_FALSE(news.is_news("gone", 60 * kSecond));
  EXPECT_TRUE(news.is_news("", 60 * kSecond));
  EXPECT_FALSE(news.is_news("", 60 * kSecond));
}

TEST(TroubleNewsTest, AnotherTroubleIsNewsAfterTenSeconds) {
  TroubleNews news;
  EXPECT_TRUE(news.is_news("gone", 0));
  EXPECT_FALSE(news.is_news("wrong password", 10 * kSecond - 1));
  EXPECT_TRUE(news.is_news("wrong password", 10 * kSecond));
}

TEST(TroubleNewsTest, TroublesThatComeAndGoAreToldRarely) {
  TroubleNews news;
  int lines = 0;
  for (std::int64_t now_us = 0; now_us < 60 * kSecond; now_us += kSecond) {
    lines += news.is_news("gone", now_us) ? 1 : 0;
    lines += news.is_news("", now_us + kSecond / 2) ? 1 : 0;
  }
  EXPECT_EQ(lines, 12) << "six times the beginning, and its end";
}

}  // namespace
}  // namespace sluice

#include "store/redis/backend/slowness.h"

#include <gtest/gtest.h>

namespace sluice {
namespace {

constexpr std::int64_t kLeast = 10'000, kProbeEvery = 500'000, kMinute = 60'000'000;

class SlownessTest : public testing::Test {
 protected:
  std::int64_t after_answers(std::initializer_list<std::int64_t> took_us, bool missed = true) {
    for (const std::int64_t us : took_us) slowness_.note_answer(us, missed, 0);
    return slowness_.slower_than_us();
  }

  Slowness slowness_{kLeast, kProbeEvery};
};

TEST_F(SlownessTest, FiveSlowAnswersInARowSayHowSlowItIsAtLeast) {
  EXPECT_EQ(after_answers({30'000, 15'000, 30'000, 30'000}), 0);
  EXPECT_EQ(after_answers({30'000}), 15'000);
  EXPECT_EQ(after_answers({30'000, 30'000}), 30'000) << "the quickest of the last five";
  EXPECT_EQ(after_answers({20'000}, false), 20'000);
  EXPECT_EQ(after_answers({9'999}, false), 0) << "one quick answer is enough";
}

TEST_F(SlownessTest, AQuickAnswerInBetweenBreaksTheRow) {
  EXPECT_EQ(after_answers({30'000, 30'000, 1'000, 30'000, 30'000, 30'000, 30'000}), 0);
  EXPECT_EQ(after_answers({30'000}), 30'000);
}

TEST_F(SlownessTest, NobodyIsToldAboutAServerThatIsFarAwayAsLongAsNobodyMinds) {
  EXPECT_EQ(after_answers({15'000, 15'000, 15'000, 15'000, 15'000, 15'000}, false), 0);
  EXPECT_EQ(after_answers({15'000}), 15'000) << "now a check has missed its deadline";
}

TEST_F(SlownessTest, WhatAHealthyServerMayTakeIsNotSlow) {
  EXPECT_EQ(after_answers({9'999, 9'999, 9'999, 9'999, 9'999}), 0);
}

TEST_F(SlownessTest, FiveTimesTheDeadlineInSilenceAreAsMuchAsFiveAnswers) {
  slowness_.note_silence(49'999, 0);
  EXPECT_EQ(slowness_.slower_than_us(), 0);
  slowness_.note_silence(1'000'000, 0);
  EXPECT_EQ(slowness_.slower_than_us(), 200'000);
  EXPECT_EQ(after_answers({1'000'000}), 0) << "it is back";
}

TEST_F(SlownessTest, AsksNowAndThen) {
  EXPECT_FALSE(slowness_.take_probe(kMinute));
  slowness_.note_silence(100'000, kMinute);
  EXPECT_FALSE(slowness_.take_probe(kMinute + kProbeEvery - 1));
  EXPECT_TRUE(slowness_.take_probe(kMinute + kProbeEvery));
  EXPECT_FALSE(slowness_.take_probe(kMinute + kProbeEvery + 1));
  EXPECT_TRUE(slowness_.take_probe(kMinute + 2 * kProbeEvery));
}

TEST(LongestDeadline, IsRememberedForTenMinutesAtLeastAndTwentyAtMost) {
  LongestDeadline longest;
  EXPECT_EQ(longest.us(), 0);
  longest.note(200'000, 0);
  longest.note(10'000, 1);
  longest.note(10'000, 10 * kMinute);
  EXPECT_EQ(longest.us(), 200'000);
  longest.note(10'000, 20 * kMinute);
  EXPECT_EQ(longest.us(), 10'000);
  longest.note(50'000, 21 * kMinute);
  longest.note(10'000, 60 * kMinute);
  EXPECT_EQ(longest.us(), 10'000);
}

}  // namespace
}  // namespace sluice

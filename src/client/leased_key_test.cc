#include "client/leased_key.h"

#include <gtest/gtest.h>

namespace sluice {
namespace {

constexpr std::int64_t kStart = 1'000 * kSecondUs;

LeaseAnswer lease_of(std::int64_t units) {
  return {.lease_id = "lease",
          .granted = units,
          .expires_after_us = 10 * kSecondUs,
          .refresh_after_us = kSecondUs,
          .safe_capacity = 7,
          .retry_after_us = 0};
}

class LeasedKeyTest : public testing::Test {
 protected:
  int spend(int times) {
    int spent = 0;
    for (int i = 0; i < times; ++i) spent += bucket_.spend(1, now_us_).spent ? 1 : 0;
    return spent;
  }
  // A key with a lease of 100 units.
  void lease_100() {
    spend(1);
    ASSERT_EQ(key_.want(now_us_), 1);
    key_.on_answer(lease_of(100), now_us_);
  }

  LeaseBucket bucket_;
  LeasedKey key_{bucket_, [] { return 0.5; }};
  std::int64_t now_us_ = kStart;
};

TEST_F(LeasedKeyTest, AsksForNothingBeforeSomebodySpends) {
  EXPECT_EQ(key_.want(now_us_), 0);
  EXPECT_EQ(key_.next_due_us(), INT64_MAX);
}

TEST_F(LeasedKeyTest, TheFirstWhoFindsNothingWakesTheOwnerOnce) {
  EXPECT_TRUE(bucket_.spend(1, now_us_).wakes_owner);
  EXPECT_FALSE(bucket_.spend(1, now_us_).wakes_owner);
  EXPECT_EQ(bucket_.why_empty(now_us_), LeaseBucket::Empty::kAsking);
  EXPECT_EQ(key_.want(now_us_), 1);
  EXPECT_EQ(key_.want(now_us_), 0) << "one request at a time";
}

TEST_F(LeasedKeyTest, SpendsWhatWasGrantedAndNoMore) {
  lease_100();
  EXPECT_EQ(spend(101), 100);
}

TEST_F(LeasedKeyTest, AsksAheadWhenAFifthIsLeft) {
  lease_100();
  EXPECT_EQ(spend(80), 80);
  EXPECT_EQ(key_.want(now_us_), 0) << "20 of 100 are left";
  EXPECT_TRUE(bucket_.spend(1, now_us_).wakes_owner);
  EXPECT_GT(key_.want(now_us_), 0);
  key_.on_answer(lease_of(50), now_us_);
  EXPECT_EQ(spend(100), 19 + 50);
}

TEST_F(LeasedKeyTest, ALeaseIsHeldUntilItsUnitsAreGone) {
  const auto lease = [this](std::string id) {
    ASSERT_GT(key_.want(now_us_), 0);
    LeaseAnswer answer = lease_of(100);
    answer.lease_id = std::move(id);
    key_.on_answer(answer, now_us_);
  };
  spend(1);
  lease("a");
  EXPECT_TRUE(key_.holds("a"));
  EXPECT_FALSE(key_.holds("b"));
  spend(81);
  lease("b");
  EXPECT_TRUE(key_.holds("a") && key_.holds("b")) << "the one in use and the next one";
  spend(100);
  lease("c");
  EXPECT_FALSE(key_.holds("a")) << "used up, and made room";
  EXPECT_TRUE(key_.holds("b") && key_.holds("c"));
  key_.close(now_us_);
  EXPECT_TRUE(key_.holds("b") && key_.holds("c")) << "to be returned";
  while (key_.take_unused()) {
  }
  EXPECT_FALSE(key_.holds("b") || key_.holds("c"));
}

TEST_F(LeasedKeyTest, NothingIsSpentAfterTheLeaseHasExpired) {
  lease_100();
  now_us_ += 10 * kSecondUs - 1;
  EXPECT_EQ(spend(1), 1);
  now_us_ += 1;
  EXPECT_EQ(spend(1), 0);
}

TEST_F(LeasedKeyTest, AClockThatStepsBackMintsNothing) {
  lease_100();
  EXPECT_EQ(spend(100), 100);
  now_us_ -= kDayUs;
  key_.want(now_us_);
  EXPECT_EQ(spend(1), 0);
}

TEST_F(LeasedKeyTest, ALeaseInUseIsReplacedBeforeItExpires) {
  lease_100();
  spend(10);
  EXPECT_EQ(key_.next_due_us(), kStart + 10 * kSecondUs - 200'000);
  now_us_ = key_.next_due_us();
  EXPECT_GT(key_.want(now_us_), 0);
}

TEST_F(LeasedKeyTest, AnIdleKeyLetsItsLeaseExpire) {
  lease_100();
  now_us_ = key_.next_due_us();
  EXPECT_EQ(key_.want(now_us_), 0);
  EXPECT_EQ(key_.next_due_us(), kStart + 10 * kSecondUs);
  now_us_ = key_.next_due_us();
  EXPECT_EQ(key_.want(now_us_), 0);
  EXPECT_EQ(key_.next_due_us(), INT64_MAX);
}

TEST_F(LeasedKeyTest, ADenialIsRememberedUntilTheServerHasRoom) {
  spend(1);
  key_.want(now_us_);
  key_.on_answer({.granted = 0, .retry_after_us = 3 * kSecondUs}, now_us_);
  EXPECT_EQ(bucket_.why_empty(now_us_), LeaseBucket::Empty::kDenied);
  EXPECT_EQ(bucket_.denied_until_us(), kStart + 3'500'000) << "spread over a second";
  spend(1000);
  EXPECT_EQ(key_.want(now_us_), 0);
  EXPECT_EQ(key_.next_due_us(), kStart + 3'500'000);
  now_us_ = key_.next_due_us();
  EXPECT_EQ(bucket_.why_empty(now_us_), LeaseBucket::Empty::kAsking);
  EXPECT_GT(key_.want(now_us_), 0);
}

TEST_F(LeasedKeyTest, WithoutTheServerTheLeaseIsSpentThenItsSafeCapacityThenTheFailureRuleDecides) {
  lease_100();
  EXPECT_EQ(spend(90), 90);
  ASSERT_GT(key_.want(now_us_), 0);
  key_.on_unreachable(now_us_);
  EXPECT_EQ(spend(10), 10);
  EXPECT_TRUE(bucket_.spend(1, now_us_).wakes_owner);
  EXPECT_EQ(key_.want(now_us_), 0) << "it waits before it asks again";
  EXPECT_EQ(spend(10), 7);
  EXPECT_EQ(bucket_.why_empty(now_us_), LeaseBucket::Empty::kServerGone);
  key_.want(now_us_);
  EXPECT_EQ(spend(10), 0) << "the safe capacity is there once";
}

TEST_F(LeasedKeyTest, SafeCapacityEndsAMinuteAfterTheLease) {
  lease_100();
  spend(90);
  key_.want(now_us_);
  key_.on_unreachable(now_us_);
  now_us_ = kStart + 10 * kSecondUs;
  while (key_.want(now_us_) == 0) now_us_ = key_.next_due_us();
  key_.on_unreachable(now_us_);
  EXPECT_EQ(spend(1), 1);
  now_us_ = kStart + 10 * kSecondUs + LeasedKey::kExtensionUs - 1;
  EXPECT_EQ(spend(1), 1);
  now_us_ += 1;
  EXPECT_EQ(spend(1), 0);
}

TEST_F(LeasedKeyTest, SafeCapacityIsGoneWhenTheServerIsBack) {
  lease_100();
  spend(100);
  key_.want(now_us_);
  key_.on_unreachable(now_us_);
  EXPECT_EQ(spend(1), 1);
  now_us_ = key_.next_due_us();
  ASSERT_GT(key_.want(now_us_), 0);
  key_.on_answer(lease_of(5), now_us_);
  EXPECT_EQ(spend(100), 5);
  key_.close(now_us_);
  EXPECT_FALSE(key_.take_unused());
}

TEST_F(LeasedKeyTest, SafeCapacityEndsAlsoWhenTheServerIsBackAndDenies) {
  lease_100();
  spend(100);
  key_.want(now_us_);
  key_.on_unreachable(now_us_);
  EXPECT_EQ(spend(1), 1);
  now_us_ = key_.next_due_us();
  ASSERT_GT(key_.want(now_us_), 0);
  key_.on_answer({.granted = 0, .retry_after_us = kSecondUs}, now_us_);
  EXPECT_EQ(spend(10), 0);
}

TEST_F(LeasedKeyTest, AServerThatComesAndGoesGivesSafeCapacityOnceAMinute) {
  lease_100();
  std::int64_t safe = 0;
  while (now_us_ < kStart + 50 * kSecondUs) {
    spend(100);
    if (key_.want(now_us_) > 0) key_.on_unreachable(now_us_);
    safe += spend(100);
    now_us_ = std::max(key_.next_due_us(), now_us_ + kSecondUs / 2);
    if (key_.want(now_us_) > 0) key_.on_answer(lease_of(100), now_us_);
  }
  EXPECT_EQ(key_.safe_spent(), 7);
  EXPECT_GE(safe, 7);
}

TEST_F(LeasedKeyTest, NothingCanBeSpentAfterClosingEvenIfTheServerIsGone) {
  lease_100();
  spend(90);
  ASSERT_GT(key_.want(now_us_), 0);
  key_.close(now_us_);
  key_.on_unreachable(now_us_);
  EXPECT_EQ(spend(1), 0);
}

TEST_F(LeasedKeyTest, ALimitThatNeverHasRoomIsAskedRarely) {
  spend(1);
  key_.want(now_us_);
  key_.on_answer({.granted = 0, .retry_after_us = -1}, now_us_);
  EXPECT_GE(key_.next_due_us(), now_us_ + LeasedKey::kRetryMostUs);
}

TEST_F(LeasedKeyTest, ALateAnswerDoesNotProlongTheLease) {
  spend(1);
  ASSERT_EQ(key_.want(now_us_), 1);
  now_us_ += 3 * kSecondUs;
  key_.on_answer(lease_of(100), now_us_);
  now_us_ = kStart + 10 * kSecondUs - 1;
  EXPECT_EQ(spend(1), 1);
  now_us_ += 1;
  EXPECT_EQ(spend(1), 0);
}

TEST_F(LeasedKeyTest, RetriesOfAServerThatIsGoneComeEverMoreRarely) {
  spend(1);
  std::int64_t last_us = 0;
  for (int i = 0; i < 10; ++i) {
    ASSERT_GT(key_.want(now_us_), 0);
    key_.on_unreachable(now_us_);
    const std::int64_t wait_us = key_.next_due_us() - now_us_;
    EXPECT_GE(wait_us, last_us);
    EXPECT_LE(wait_us, LeasedKey::kRetryMostUs);
    last_us = wait_us;
    now_us_ = key_.next_due_us();
  }
}

TEST_F(LeasedKeyTest, ClosingReturnsWhatIsLeftAndSpendsNoMore) {
  lease_100();
  spend(30);
  key_.close(now_us_);
  const auto unused = key_.take_unused();
  ASSERT_TRUE(unused);
  EXPECT_EQ(unused->lease_id, "lease");
  EXPECT_EQ(unused->units, 70);
  EXPECT_FALSE(key_.take_unused());
  EXPECT_EQ(spend(1), 0);
}

TEST_F(LeasedKeyTest, AnAnswerAfterClosingIsReturnedWhole) {
  spend(1);
  key_.want(now_us_);
  key_.close(now_us_);
  key_.on_answer(lease_of(10), now_us_);
  EXPECT_EQ(spend(1), 0);
  EXPECT_EQ(key_.take_unused()->units, 10);
}

TEST_F(LeasedKeyTest, UnitsOfAnExpiredLeaseAreNotReturned) {
  lease_100();
  now_us_ += 10 * kSecondUs;
  key_.close(now_us_);
  EXPECT_FALSE(key_.take_unused());
}

}  // namespace
}  // namespace sluice

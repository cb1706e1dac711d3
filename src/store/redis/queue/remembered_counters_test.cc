// The table of remembered denials by itself: whom it believes, and by which clock.
#include <gtest/gtest.h>

#include "store/redis/queue/remembered_denials.h"
#include "store/redis/testing/call.h"

namespace sluice {
namespace {

constexpr std::int64_t kThen = 100'000'000;  // by the server's clock

class RememberedTableTest : public testing::Test {
 protected:
  RememberedDenials::Heard heard(std::uint64_t key, std::int64_t asked_at_us = 5) const {
    return {.key = {0, key},
            .slot_tag = 3,
            .params = limit_,
            .asked_at_us = asked_at_us,
            .answered_at_us = asked_at_us + 15,
            .decided_at_us = kThen};
  }
  bool is_denied(std::uint64_t key, std::int64_t now_us, std::int64_t decide_at_us = 0,
                 std::uint32_t slot_tag = 3) {
    TestCall call({{.key = {0, key}, .params = limit_, .slot_tag = slot_tag}});
    const bool denied = denials_.deny(call, now_us, decide_at_us);
    told_at_us_ = call.now_us;
    return denied;
  }

  ParamsTable params_;
  const ParamsId limit_ =
      params_.intern(make_limit_params(Algorithm::kGcra, {1, 60'000'000}, std::nullopt).value());
  const CounterView::Left used_up_{.state = {.at = kThen + 60'000'000}};
  std::shared_ptr<FreedCounters> freed_ = std::make_shared<FreedCounters>();
  RememberedDenials denials_{params_, freed_};
  std::int64_t told_at_us_ = 0;
};

TEST_F(RememberedTableTest, TheServersClockIsNotAheadOfItsAnswer) {
  denials_.hear(heard(1), used_up_);
  ASSERT_TRUE(is_denied(1, 30));
  EXPECT_EQ(told_at_us_, kThen + 10) << "since it answered, not since it was asked";
}

TEST_F(RememberedTableTest, AClockThatStepsBackIsForTheServerToSee) {
  denials_.hear(heard(1), used_up_);
  EXPECT_TRUE(is_denied(1, 30, kThen));
  EXPECT_FALSE(is_denied(1, 30, kThen - 1));
}

TEST_F(RememberedTableTest, WhatCannotBeKnownAnyMoreIsForgotten) {
  denials_.hear(heard(1), used_up_);
  ASSERT_TRUE(is_denied(1, 30));
  denials_.hear(heard(1), std::nullopt);
  EXPECT_FALSE(is_denied(1, 30));
}

TEST_F(RememberedTableTest, ACounterInAnotherPlaceIsAnotherCounter) {
  denials_.hear(heard(1), used_up_);
  EXPECT_FALSE(is_denied(1, 30, 0, 4));
}

TEST_F(RememberedTableTest, RoomGivenBackWhileTheAnswerWasOnItsWayCounts) {
  denials_.hear(heard(1), used_up_);
  freed_->note({0, 1}, 10);  // asked at 5, answered at 20
  EXPECT_FALSE(is_denied(1, 30));
}

TEST_F(RememberedTableTest, ItIsBelievedForSoLongSinceTheQuestion) {
  denials_.hear(heard(1), used_up_);
  EXPECT_TRUE(is_denied(1, 5 + RememberedDenials::kForUs - 1));
  EXPECT_FALSE(is_denied(1, 5 + RememberedDenials::kForUs));
}

// A log is known for what lacks one unit. Who asks for more is told by the server, whatever else denies.
TEST_F(RememberedTableTest, WhereOneCounterCannotBeToldTheServerIsAsked) {
  const ParamsId log =
      params_.intern(make_limit_params(Algorithm::kSlidingLog, {10, 60'000'000}, std::nullopt).value());
  denials_.hear(heard(1), used_up_);
  RememberedDenials::Heard of_log = heard(2);
  of_log.params = log;
  denials_.hear(of_log, CounterView::Left{.state = {kThen + 5'000'000, 0, kThen + 9'000'000}});
  for (const std::int64_t cost : {1, 2}) {
    TestCall call({{.key = {0, 2}, .params = log, .cost = cost, .slot_tag = 3},
                   {.key = {0, 1}, .params = limit_, .slot_tag = 3}});
    EXPECT_EQ(denials_.deny(call, 30, 0), cost == 1) << cost;
  }
}

TEST_F(RememberedTableTest, AnAnswerToAnEarlierQuestionShortensNobodysTime) {
  denials_.hear(heard(1, 50), used_up_);
  denials_.hear(heard(2, 5), used_up_);
  denials_.tick(5 + RememberedDenials::kWithoutAnswerUs);
  TestCall call({{.key = {0, 1}, .params = limit_, .slot_tag = 3}});
  EXPECT_TRUE(denials_.deny_unanswered(call, 5 + RememberedDenials::kWithoutAnswerUs, 0));
}

}  // namespace
}  // namespace sluice

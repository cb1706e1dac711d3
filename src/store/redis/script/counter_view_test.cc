// What is known of a sliding log after the script has spoken: only what a denial by a single unit says.
#include "store/redis/script/counter_view.h"
#include "base/time_units.h"

#include <gtest/gtest.h>

#include "store/redis/script/stamp.h"

namespace sluice {
namespace {

constexpr std::int64_t kViewTime = 1'800'000'000 * kSecondUs;

class LogViewTest : public testing::Test {
 protected:
  ParamsId log_of(std::int64_t count) {
    const ParamsId id = params_.intern(
        make_limit_params(Algorithm::kSlidingLog, {count, 60 * kSecondUs}, std::nullopt).value());
    limits_.begin();
    limits_.number_of(id, records_);
    return id;
  }
  static ChargeResult denied(std::int64_t remaining) {
    return {.outcome = {.allowed = false,
                        .remaining = remaining,
                        .retry_after_us = 5 * kSecondUs,
                        .reset_after_us = 9 * kSecondUs}};
  }
  Charge charge(std::int64_t cost) const { return {.key = {0, 1}, .params = ten_, .cost = cost}; }
  bool is_known(const CounterView& view) const { return view.left(params_[ten_]).has_value(); }

  ParamsTable params_;
  LimitRecords limits_{params_};
  std::string records_;
  const ParamsId ten_ = log_of(10), twenty_ = log_of(20);
};

TEST_F(LogViewTest, ADenialByOneUnitSaysWhenTheNextIsThere) {
  CounterView view;
  view.read("", limits_, ten_);
  const ChargeResult told = denied(2);
  view.note_log(charge(3), &told, kViewTime);
  const auto left = view.left(params_[ten_]);
  ASSERT_TRUE(left);
  EXPECT_EQ(left->state, (State{kViewTime + 5 * kSecondUs, 2, kViewTime + 9 * kSecondUs}));
  EXPECT_TRUE(view.has_denied());
}

TEST_F(LogViewTest, ADenialByMoreSaysNothingOfTheUnitsInBetween) {
  CounterView view;
  view.read("", limits_, ten_);
  const ChargeResult told = denied(2);
  view.note_log(charge(4), &told, kViewTime);
  EXPECT_FALSE(is_known(view));
  EXPECT_TRUE(view.has_denied());
}

TEST_F(LogViewTest, WhatWasNotHeardMayHaveChangedIt) {
  CounterView view;
  view.read("", limits_, ten_);
  const ChargeResult told = denied(0);
  view.note_log(charge(1), &told, kViewTime);
  ASSERT_TRUE(is_known(view));
  view.note_log(charge(1), nullptr, kViewTime);
  EXPECT_FALSE(is_known(view));
}

TEST_F(LogViewTest, ALogUnderOtherNumbersFollowsThose) {
  const ChargeResult told = denied(0);
  for (const ParamsId kept_by : {ten_, twenty_}) {
    CounterView view;
    view.read(stamp_of(params_[kept_by]) + std::string(11, '\0'), limits_, ten_);
    view.note_log(charge(1), &told, kViewTime);
    EXPECT_EQ(is_known(view), kept_by == ten_);
  }
}

}  // namespace
}  // namespace sluice

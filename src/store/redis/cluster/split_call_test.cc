#include "store/redis/cluster/split_call.h"

#include <gmock/gmock.h>

#include <random>

#include "base/testing/seed.h"
#include "store/pressure.h"
#include "store/redis/script/wire.h"
#include "store/redis/testing/split_call_fixture.h"

namespace sluice {
namespace {

using testing::IsEmpty;
using testing::SizeIs;
using enum Verdict;
using Part = SplitCall::Part;

using SplitCallTest = SplitCallFixture;

TEST_F(SplitCallTest, HasAPartPerSlotAndKeepsTheOrderOfTheCaller) {
  TestCall call({charge(1, kA), charge(2, kB), charge(3, kA), charge(4, kC)}, 77);
  begin(call);
  ASSERT_THAT(split_.parts(), SizeIs(3));
  Part &a = split_.parts()[0], &b = split_.parts()[1], &c = split_.parts()[2];
  EXPECT_EQ(a.slot, slot_of_tag(kA));
  EXPECT_EQ(a.deadline_us, 77);
  ASSERT_THAT(a.charges, SizeIs(2));
  EXPECT_EQ(a.charges[1].key.low, 3u);
  ASSERT_THAT(b.charges, SizeIs(1));
  answer(c, kAllowed, 4);
  answer(a, kAllowed, 3);
  EXPECT_EQ(times_done_, 0);
  answer(b, kAllowed, 2);
  EXPECT_EQ(times_done_, 1);
  EXPECT_EQ(&split_.settle(params_), &call);
  EXPECT_TRUE(call.allowed());
  EXPECT_EQ(call.results_known, 4u);
  EXPECT_EQ(call.now_us, a.now_us);
  EXPECT_EQ(call.remaining(0), 3);
  EXPECT_EQ(call.remaining(1), 2);
  EXPECT_EQ(call.remaining(2), 3);
  EXPECT_EQ(call.remaining(3), 4);
  EXPECT_THAT(split_.begin_refunds(0), IsEmpty());
}

struct Given {
  Verdict verdict;
  bool replayed = false;
};

TEST_F(SplitCallTest, TheAnswersOfThePartsMakeOne) {
  const struct {
    const char* about;
    bool with_id;
    Given a, b;
    Verdict verdict;
    bool replayed;
    std::vector<std::uint32_t> refunded;
  } cases[] = {
      {"both allow", false, {kAllowed}, {kAllowed}, kAllowed, false, {}},
      {"one denies: the other is given back", false, {kAllowed}, {kDenied}, kDenied, false, {kA}},
      {"both deny: nothing was charged", false, {kDenied}, {kDenied}, kDenied, false, {}},
      {"one is silent", false, {kAllowed}, {kNoAnswer}, kNoAnswer, false, {kA}},
      {"one is full", false, {kAllowed}, {kNoRoom}, kNoRoom, false, {kA}},
      {"one denies, one is full: a denial is enough", false, {kNoRoom}, {kDenied}, kDenied, false, {}},
      {"one is full, one is silent", false, {kNoRoom}, {kNoAnswer}, kNoAnswer, false, {}},
      {"one denies, one is silent: a denial is enough", false, {kNoAnswer}, {kDenied}, kDenied, false, {}},
      {"the same with an id", true, {kNoAnswer}, {kDenied}, kDenied, false, {}},
      {"all repeat themselves", true, {kAllowed, true}, {kAllowed, true}, kAllowed, true, {}},
      {"a second try completes the first", true, {kAllowed, true}, {kAllowed}, kAllowed, true, {}},
      {"a second try is denied: the first may be admitted",
       true,
       {kAllowed, true},
       {kDenied},
       kDenied,
       false,
       {}},
      {"a denial is repeated", true, {kAllowed, true}, {kDenied, true}, kDenied, true, {}},
      {"a denial is repeated where the charge was given back",
       true,
       {kAllowed},
       {kDenied, true},
       kDenied,
       false,
       {kA}},
      {"the next try will need the grant", true, {kAllowed}, {kNoAnswer}, kNoAnswer, false, {}},
  };
  for (const auto& c : cases) {
    TestCall call({charge(1, kA), charge(2, kB)});
    if (c.with_id) call.dedupe = Dedupe{{7, 8}, 9, kSecond};
    begin(call);
    answer(split_.parts()[0], c.a.verdict, 5, c.a.replayed);
    answer(split_.parts()[1], c.b.verdict, 5, c.b.replayed);
    split_.settle(params_);
    EXPECT_EQ(call.verdict, c.verdict) << c.about;
    EXPECT_EQ(call.replayed, c.replayed) << c.about;
    EXPECT_EQ(call.results_known, is_answer(c.verdict) ? 2u : 0u) << c.about;
    std::vector<std::uint32_t> refunded;
    for (const Part* part : split_.begin_refunds(99)) refunded.push_back(part->charges[0].slot_tag);
    EXPECT_EQ(refunded, c.refunded) << c.about;
  }
}

// A call that passes because a slot is silent has used the limits of the other slots; else these would never
// fill.
TEST_F(SplitCallTest, WhatPassesWithoutAnAnswerStaysCharged) {
  using WithoutAnswer = StoreCall::WithoutAnswer;
  for (const auto without_answer :
       {WithoutAnswer::kUnknown, WithoutAnswer::kDenied, WithoutAnswer::kPasses}) {
    TestCall call({charge(1, kA), charge(2, kB)});
    call.without_answer = without_answer;
    begin(call);
    answer(split_.parts()[0], kAllowed);
    answer(split_.parts()[1], kNoAnswer);
    split_.settle(params_);
    EXPECT_EQ(call.verdict, kNoAnswer);
    EXPECT_EQ(split_.begin_refunds(99).size(), without_answer == WithoutAnswer::kPasses ? 0u : 1u);
  }
}

TEST_F(SplitCallTest, WhatCannotPassIsGivenBackAlsoWithAnId) {
  TestCall call({charge(1, kA), charge(2, kB)});
  call.without_answer = StoreCall::WithoutAnswer::kDenied;
  call.dedupe = Dedupe{{7, 8}, 9, kSecond};
  begin(call);
  answer(split_.parts()[0], kAllowed);
  answer(split_.parts()[1], kNoAnswer);
  split_.settle(params_);
  EXPECT_THAT(split_.begin_refunds(99), SizeIs(1));
}

TEST_F(SplitCallTest, ADenialBesideASilentSlotTellsWhatIsKnown) {
  TestCall call({charge(1, kA), charge(2, kB)});
  begin(call);
  answer(split_.parts()[0], kNoAnswer);
  answer(split_.parts()[1], kDenied, 0);
  split_.settle(params_);
  EXPECT_EQ(call.now_us, split_.parts()[1].now_us);
  EXPECT_EQ(call.results_known, 2u);
  EXPECT_TRUE(call.results[0].outcome.allowed);
  EXPECT_EQ(call.remaining(0), 10) << "nobody knows; it denies nobody";
  EXPECT_EQ(call.remaining(1), 0);
  EXPECT_EQ(call.results[1].outcome.retry_after_us, kSecond);
}

TEST_F(SplitCallTest, ARefundSaysWhatWasGranted) {
  TestCall call({charge(1, kA, 4), charge(2, kB), charge(3, kA, 0)});
  begin(call);
  answer(split_.parts()[0], kAllowed, 6);
  answer(split_.parts()[1], kDenied);
  split_.settle(params_);
  const std::int64_t granted_us = split_.parts()[0].now_us;
  const auto refunds = split_.begin_refunds(500 * kSecond);
  ASSERT_THAT(refunds, SizeIs(1));
  EXPECT_EQ(refunds[0]->refund_of_us, granted_us);
  EXPECT_EQ(refunds[0]->deadline_us, 500 * kSecond);
  ASSERT_THAT(refunds[0]->charges, SizeIs(1)) << "a look has charged nothing";
  EXPECT_EQ(refunds[0]->charges[0].cost, 4);
  EXPECT_EQ(refunds[0]->results[0].outcome.remaining, 6);
  EXPECT_FALSE(refunds[0]->dedupe);
  EXPECT_FALSE(split_.one_less());
  EXPECT_EQ(split_.call(), nullptr);
  answer(*refunds[0], kAllowed);
  EXPECT_EQ(times_done_, 2);
}

TEST_F(SplitCallTest, ARefundTakesTheRecordAlong) {
  TestCall call({charge(1, kA), charge(2, kB)});
  call.dedupe = Dedupe{{7, 8}, 9, kSecond};
  begin(call);
  for (const Part& part : split_.parts()) {
    EXPECT_EQ(part.dedupe->id, (KeyHash{7, 8}));
    EXPECT_TRUE(part.dedupe->is_part);
  }
  answer(split_.parts()[0], kAllowed);
  answer(split_.parts()[1], kDenied);
  split_.settle(params_);
  const auto refunds = split_.begin_refunds(0);
  ASSERT_THAT(refunds, SizeIs(1));
  EXPECT_EQ(refunds[0]->dedupe->id, (KeyHash{7, 8}));
}

// A request is admitted on three slots. Its records expire one after the other, and a repeat comes in
// between.
TEST_F(SplitCallTest, OnlyWhatTheRepeatItselfHasChargedIsGivenBack) {
  TestCall call({charge(1, kA), charge(2, kB), charge(3, kC)});
  call.dedupe = Dedupe{{7, 8}, 9, kSecond};
  begin(call);
  answer(split_.parts()[0], kAllowed);
  answer(split_.parts()[1], kAllowed, 5, true);
  answer(split_.parts()[2], kDenied);
  split_.settle(params_);
  EXPECT_EQ(call.verdict, kDenied);
  const auto refunds = split_.begin_refunds(0);
  ASSERT_THAT(refunds, SizeIs(1));
  EXPECT_EQ(refunds[0]->slot, slot_of_tag(kA));
}

TEST_F(SplitCallTest, OnOneSlotItIsNoPart) {
  TestCall call({charge(1, kA), charge(2, kA)});
  call.dedupe = Dedupe{{7, 8}, 9, kSecond};
  begin(call);
  ASSERT_THAT(split_.parts(), SizeIs(1));
  EXPECT_FALSE(split_.parts()[0].dedupe->is_part);
}

TEST_F(SplitCallTest, AConflictAnywhereIsAConflict) {
  TestCall call({charge(1, kA), charge(2, kB), charge(3, kC)});
  call.dedupe = Dedupe{{7, 8}, 9, kSecond};
  begin(call);
  answer(split_.parts()[0], kAllowed);
  answer(split_.parts()[1], kNoAnswer);
  Part& last = split_.parts()[2];
  last.verdict = kDenied;
  last.conflict = true;
  last.on_done();
  split_.settle(params_);
  EXPECT_TRUE(call.conflict);
  EXPECT_EQ(call.verdict, kDenied);
  EXPECT_EQ(call.results_known, 0u);
  EXPECT_THAT(split_.begin_refunds(0), SizeIs(1));
}

TEST_F(SplitCallTest, WhatCountsDeniedRequestsKeepsItsCharge) {
  TestCall call({charge(1, kA, 2), charge(2, kA, 3), charge(3, kB), charge(4, kC)});
  const_cast<Charge&>(call.charges[0]).on_denial = OnDenial::kCharge;
  const_cast<Charge&>(call.charges[3]).on_denial = OnDenial::kCharge;
  begin(call);
  answer(split_.parts()[0], kAllowed, 4);
  answer(split_.parts()[1], kDenied);
  answer(split_.parts()[2], kAllowed, 4);
  split_.settle(params_);
  EXPECT_EQ(call.remaining(0), 4);
  EXPECT_EQ(call.remaining(1), 7) << "without its charge";
  EXPECT_EQ(call.remaining(3), 4);
  const auto refunds = split_.begin_refunds(0);
  ASSERT_THAT(refunds, SizeIs(1));
  ASSERT_THAT(refunds[0]->charges, SizeIs(1));
  EXPECT_EQ(refunds[0]->charges[0].key.low, 2u);
}

TEST_F(SplitCallTest, ARefundOfTheCallerIsNotTakenBack) {
  TestCall call({charge(1, kA), charge(2, kB)});
  call.refund_of_us = 50;
  call.results[1].outcome.remaining = 3;
  begin(call);
  EXPECT_EQ(split_.parts()[1].refund_of_us, 50);
  EXPECT_EQ(split_.parts()[1].results[0].outcome.remaining, 3) << "what was granted";
  answer(split_.parts()[0], kAllowed);
  answer(split_.parts()[1], kNoAnswer);
  split_.settle(params_);
  EXPECT_EQ(call.verdict, kNoAnswer);
  EXPECT_THAT(split_.begin_refunds(0), IsEmpty());
}

// The level that a denied call reports for a slot that had room, compared with a look.
TEST_F(SplitCallTest, TheLevelWithoutTheChargeIsThatOfALook) {
  std::mt19937_64 random(test_seed());
  const auto pick = [&](std::int64_t from, std::int64_t to) {
    return std::uniform_int_distribution<std::int64_t>(from, to)(random);
  };
  int compared = 0;
  for (int round = 0; round < 3000; ++round) {
    const auto algorithm = static_cast<Algorithm>(pick(0, 5));
    const std::int64_t count = pick(1, 50), period_us = pick(1, 20) * 777'777;
    const LimitParams params = make_limit_params(algorithm, {count, period_us}, std::nullopt).value();
    const ParamsId id = params_.intern(params);
    State state;
    Log log;
    const auto charge_by = [&](std::int64_t now_us, std::int64_t cost) {
      if (algorithm == Algorithm::kSlidingLog) return step(params, log, now_us, cost);
      const Stepped stepped = step(params, state, now_us, cost);
      state = stepped.state;
      return stepped.outcome;
    };
    std::int64_t now_us = 1'700'000'000 * kSecond;
    for (int i = 0; i < 10; ++i) charge_by(now_us += pick(0, period_us / 5), pick(0, count / 2));
    now_us += pick(0, period_us / 5);
    const std::int64_t cost = pick(1, count);
    const Outcome look = charge_by(now_us, 0);
    const Outcome granted = charge_by(now_us, cost);
    if (!granted.allowed) continue;
    ++compared;
    TestCall call({{.key = {0, 1}, .params = id, .cost = cost, .slot_tag = kA}, charge(2, kB)});
    begin(call);
    answer(split_.parts()[1], kDenied);
    split_.parts()[0].results[0].outcome = granted;
    split_.parts()[0].results_known = 1;
    split_.parts()[0].verdict = kAllowed;
    split_.parts()[0].on_done();
    split_.settle(params_);
    const Outcome& told = call.results[0].outcome;
    EXPECT_TRUE(told.allowed);
    EXPECT_EQ(told.retry_after_us, 0);
    ASSERT_EQ(told.remaining, look.remaining) << to_string(algorithm);
    if (params.is_bucket()) {
      ASSERT_NEAR(static_cast<double>(told.reset_after_us), static_cast<double>(look.reset_after_us), 1.0);
    } else if (algorithm == Algorithm::kFixedWindow) {
      ASSERT_EQ(told.reset_after_us, look.reset_after_us);
    } else {
      ASSERT_GE(told.reset_after_us, look.reset_after_us);
      ASSERT_LE(told.reset_after_us, look.reset_after_us + period_us);
    }
  }
  EXPECT_GT(compared, 500);
}

// The caller may be gone, and the call may have been sent on: a refund goes its own way, for what is taken
// back alone, and with what that was told.
TEST_F(SplitCallTest, ARefundIsACallOfItsOwn) {
  Charge kept = charge(1, kA);
  kept.on_denial = OnDenial::kCharge;
  TestCall call({kept, charge(2, kA), charge(3, kB)}, 77);
  call.caller_deadline_us = 50;
  begin(call);
  Part& part = split_.parts()[0];
  part.hops = 3;
  answer(part, kAllowed);
  part.results[0].outcome.remaining = 8;
  part.results[1].outcome.remaining = 6;
  answer(split_.parts()[1], kDenied, 0);
  split_.settle(params_);
  const auto refunds = split_.begin_refunds(99);
  ASSERT_THAT(refunds, SizeIs(1));
  ASSERT_THAT(refunds[0]->charges, SizeIs(1));
  EXPECT_EQ(refunds[0]->charges[0].key, (KeyHash{0, 2}));
  EXPECT_EQ(refunds[0]->results[0].outcome.remaining, 6);
  EXPECT_EQ(refunds[0]->deadline_us, 99);
  EXPECT_EQ(refunds[0]->caller_deadline_us, 0);
  EXPECT_EQ(refunds[0]->hops, 0);
}

// A grant of which nothing is known cannot be told from another.
TEST_F(SplitCallTest, WhatWasNotToldIsNotGivenBack) {
  TestCall call({charge(1, kA), charge(2, kB)});
  begin(call);
  answer(split_.parts()[0], kAllowed);
  split_.parts()[0].results_known = 0;
  answer(split_.parts()[1], kDenied, 0);
  split_.settle(params_);
  EXPECT_THAT(split_.begin_refunds(99), IsEmpty());
}

class FullSlotTest : public SplitCallTest {
 protected:
  // Charges one counter on slot A and two on slot B, which has memory for the first only.
  std::vector<Charge> charges() const {
    std::vector<Charge> charges = {charge(1, kA), charge(2, kB), charge(3, kB)};
    for (Charge& each : charges) each.passes_without_room = true;
    return charges;
  }
  void answer_in_part(Part& part) {
    part.results[0].passed_over = false;
    part.results[1].passed_over = true;
    answer(part, kPartlyCounted);
    for (ChargeResult& result : part.results) result.outcome.allowed = true;
  }
};

TEST_F(FullSlotTest, ASlotThatIsFullIsPassedOverAndTheOthersCount) {
  TestCall call(charges());
  begin(call);
  answer(split_.parts()[0], kAllowed);
  answer(split_.parts()[1], kNoRoom);
  EXPECT_EQ(split_.settle(params_).verdict, kPartlyCounted);
  EXPECT_EQ(call.results_known, 3u);
  EXPECT_FALSE(call.results[0].passed_over);
  EXPECT_TRUE(call.results[1].passed_over && call.results[2].passed_over);
  EXPECT_EQ(call.results[1].outcome.remaining, 10) << "it is not known";
  EXPECT_THAT(split_.begin_refunds(99), IsEmpty());
}

TEST_F(FullSlotTest, WhatOneSlotPassesOverTheWholeDoes) {
  TestCall call(charges());
  begin(call);
  answer(split_.parts()[0], kAllowed);
  answer_in_part(split_.parts()[1]);
  EXPECT_EQ(split_.settle(params_).verdict, kPartlyCounted);
  EXPECT_FALSE(call.results[0].passed_over || call.results[1].passed_over);
  EXPECT_TRUE(call.results[2].passed_over);
  EXPECT_THAT(split_.begin_refunds(99), IsEmpty());
}

TEST_F(FullSlotTest, IfAnotherSlotDeniesOnlyWhatWasCountedIsGivenBack) {
  TestCall call(charges());
  begin(call);
  answer(split_.parts()[0], kDenied, 0);
  answer_in_part(split_.parts()[1]);
  EXPECT_EQ(split_.settle(params_).verdict, kDenied);
  EXPECT_EQ(call.results[1].outcome.remaining, 6) << "without the charge";
  EXPECT_EQ(call.results[2].outcome.remaining, 5) << "it was not charged";
  ASSERT_THAT(split_.begin_refunds(99), SizeIs(1));
  ASSERT_THAT(split_.refunds()[0]->charges, SizeIs(1));
  EXPECT_EQ(split_.refunds()[0]->charges[0].key, (KeyHash{0, 2}));
}

TEST_F(FullSlotTest, IfAllSlotsAreFullNothingCounts) {
  TestCall call(charges());
  begin(call);
  answer(split_.parts()[0], kNoRoom);
  answer(split_.parts()[1], kNoRoom);
  EXPECT_EQ(split_.settle(params_).verdict, kNoRoom);
}

TEST_F(FullSlotTest, WhereOneChargeMayNotBePassedOverNothingIsCharged) {
  std::vector<Charge> some = charges();
  some[2].passes_without_room = false;
  TestCall call(some);
  begin(call);
  answer(split_.parts()[0], kAllowed);
  answer(split_.parts()[1], kNoRoom);
  EXPECT_EQ(split_.settle(params_).verdict, kNoRoom);
  EXPECT_THAT(split_.begin_refunds(99), SizeIs(1));
}

}  // namespace
}  // namespace sluice

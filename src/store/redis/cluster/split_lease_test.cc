#include <gmock/gmock.h>

#include <map>

#include "store/redis/script/wire.h"
#include "store/redis/testing/split_call_fixture.h"

namespace sluice {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;
using enum Verdict;
using Part = SplitCall::Part;

// A lease on three slots, of which A is the first.
class SplitLeaseTest : public SplitCallFixture {
 protected:
  static constexpr KeyHash kId{7, 8};

  std::vector<Charge> wants(std::int64_t units) const {
    return {charge(1, kA, units), charge(2, kB, units), charge(3, kC, units)};
  }
  static void make_lease(TestCall& call) {
    call.is_lease = true;
    call.dedupe = Dedupe{kId, 9, kSecond};
  }
  void grant(Part& part, std::int64_t units, bool replayed = false) {
    part.granted = units;
    answer(part, units > 0 ? kAllowed : kDenied, 1, replayed);
  }
  // What the other slots say in the first round. Returns the part of the first slot.
  Part& others_grant(std::int64_t b, std::int64_t c) {
    grant(split_.parts()[1], b);
    grant(split_.parts()[2], c);
    EXPECT_TRUE(split_.has_round());
    const auto round = begin_round();
    EXPECT_THAT(round, ElementsAre(&split_.parts()[0]));
    return *round.front();
  }
  // By slot: what is given back.
  std::map<std::uint16_t, std::int64_t> given_back() {
    std::map<std::uint16_t, std::int64_t> units;
    for (const Part* refund : split_.begin_refunds(0)) units[refund->slot] = refund->charges[0].cost;
    return units;
  }
  const std::uint16_t b_ = slot_of_tag(kB), c_ = slot_of_tag(kC);
};

using Units = std::map<std::uint16_t, std::int64_t>;

TEST_F(SplitLeaseTest, TheFirstSlotIsAskedLastForWhatAllOthersHaveGranted) {
  TestCall call(wants(8));
  make_lease(call);
  split_.begin(call, *this, SplitCall::By::kSlot, 99);
  EXPECT_THAT(begin_round(), ElementsAre(&split_.parts()[1], &split_.parts()[2]));
  Part& first = others_grant(8, 5);
  EXPECT_TRUE(first.is_lease);
  EXPECT_EQ(first.charges[0].cost, 5);
  EXPECT_EQ(first.dedupe->id, kId);
  EXPECT_FALSE(first.dedupe->is_part);
  grant(first, 3);
  EXPECT_FALSE(split_.has_round());
  split_.settle(params_);
  EXPECT_EQ(call.verdict, kAllowed);
  EXPECT_EQ(call.granted, 3);
  EXPECT_FALSE(call.replayed);
  EXPECT_EQ(call.results_known, 3u);
  EXPECT_EQ(call.remaining(0), 1);
  EXPECT_EQ(call.remaining(1), 1 + 5) << "what is more than the first slot has granted comes back";
  EXPECT_EQ(call.results[1].charged_at_us, split_.parts()[1].now_us);
  EXPECT_EQ(given_back(), (Units{{b_, 5}, {c_, 2}}));
}

TEST_F(SplitLeaseTest, OnlyTheFirstSlotHasTheRecordOfTheRequest) {
  TestCall call(wants(8));
  make_lease(call);
  begin(call);
  EXPECT_EQ(split_.parts()[0].dedupe->id, kId);
  EXPECT_NE(split_.parts()[1].dedupe->id, kId);
  EXPECT_NE(split_.parts()[2].dedupe->id, kId);
}

TEST_F(SplitLeaseTest, WhatAllGrantIsKept) {
  TestCall call(wants(8));
  make_lease(call);
  begin(call);
  grant(others_grant(8, 8), 8);
  split_.settle(params_);
  EXPECT_EQ(call.granted, 8);
  EXPECT_THAT(split_.begin_refunds(0), IsEmpty());
}

// The lease was granted before, and the units of the other slots may be used up since.
TEST_F(SplitLeaseTest, ARepeatGetsTheRecordedLeaseAndGivesBackWhatItWasGrantedItself) {
  for (const std::int64_t c : {0, 4}) {
    TestCall call(wants(8));
    make_lease(call);
    begin(call);
    Part& first = others_grant(2, c);
    EXPECT_EQ(first.is_lease, c > 0) << "else it only looks";
    EXPECT_EQ(first.charges[0].cost, std::min<std::int64_t>(2, c));
    grant(first, 8, true);
    split_.settle(params_);
    EXPECT_EQ(call.verdict, kAllowed);
    EXPECT_TRUE(call.replayed);
    EXPECT_EQ(call.granted, 8);
    EXPECT_EQ(call.now_us, first.now_us);
    EXPECT_EQ(call.results_known, 3u);
    EXPECT_EQ(call.results[1].charged_at_us, 0) << "of the other slots nothing is known";
    EXPECT_EQ(given_back(), c > 0 ? (Units{{b_, 2}, {c_, 4}}) : (Units{{b_, 2}}));
  }
}

TEST_F(SplitLeaseTest, WithoutALeaseAllIsGivenBack) {
  const struct {
    const char* what;
    std::int64_t b, c;
    Verdict first, whole;
    Units given_back;
  } rows[] = {
      {"the first has none", 8, 5, kDenied, kDenied, {{b_, 8}, {c_, 5}}},
      {"the first is full", 8, 5, kNoRoom, kNoRoom, {{b_, 8}, {c_, 5}}},
      {"the first is overloaded", 8, 5, kShed, kShed, {{b_, 8}, {c_, 5}}},
      {"another has none", 8, 0, kAllowed, kDenied, {{b_, 8}}},
      {"another has none, and the first is silent", 8, 0, kNoAnswer, kDenied, {{b_, 8}}},
      {"no other has any", 0, 0, kAllowed, kDenied, {}},
      {"the first is silent: it may have been charged, and then has the record",
       8,
       5,
       kNoAnswer,
       kNoAnswer,
       {}},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.what);
    TestCall call(wants(8));
    make_lease(call);
    begin(call);
    answer(others_grant(row.b, row.c), row.first, 1);
    split_.settle(params_);
    EXPECT_EQ(call.verdict, row.whole);
    EXPECT_EQ(call.granted, 0);
    EXPECT_EQ(given_back(), row.given_back);
  }
}

TEST_F(SplitLeaseTest, IfAnotherSlotIsSilentTheFirstIsNotCharged) {
  TestCall call(wants(8));
  make_lease(call);
  begin(call);
  grant(split_.parts()[1], 8);
  answer(split_.parts()[2], kNoAnswer);
  Part& first = *begin_round().front();
  EXPECT_FALSE(first.is_lease);
  EXPECT_EQ(first.charges[0].cost, 0);
  answer(first, kAllowed);
  split_.settle(params_);
  EXPECT_EQ(call.verdict, kNoAnswer);
  EXPECT_EQ(given_back(), (Units{{b_, 8}}));
}

TEST_F(SplitLeaseTest, AConflictIsOne) {
  TestCall call(wants(8));
  make_lease(call);
  begin(call);
  Part& first = others_grant(8, 8);
  first.conflict = true;
  grant(first, 0);
  split_.settle(params_);
  EXPECT_TRUE(call.conflict);
  EXPECT_EQ(given_back(), (Units{{b_, 8}, {c_, 8}}));
}

// A part that was sent twice says that it is a repeat: of itself.
TEST_F(SplitLeaseTest, APartThatWasSentTwiceIsStillGivenBack) {
  TestCall call(wants(8));
  make_lease(call);
  begin(call);
  grant(split_.parts()[1], 8, true);
  grant(split_.parts()[2], 0);
  answer(*begin_round().front(), kAllowed);
  split_.settle(params_);
  EXPECT_EQ(call.verdict, kDenied);
  EXPECT_FALSE(call.replayed);
  EXPECT_EQ(given_back(), (Units{{b_, 8}}));
}

class SplitReturnTest : public SplitLeaseTest {
 protected:
  static void make_return(TestCall& call, std::int64_t b_at_us, std::int64_t c_at_us) {
    make_lease(call);
    call.refund_of_us = 50 * kSecond;
    for (ChargeResult& result : call.results) result.outcome.allowed = true;
    call.results[1].charged_at_us = b_at_us;
    call.results[2].charged_at_us = c_at_us;
  }
};

TEST_F(SplitReturnTest, TheRecordIsRemovedFirstThenTheOthersGiveBackWhatTheyKnow) {
  TestCall call(wants(5));
  make_return(call, 51 * kSecond, 0);  // when slot C was charged is not known
  split_.begin(call, *this);
  EXPECT_THAT(begin_round(), ElementsAre(&split_.parts()[0]));
  Part& first = split_.parts()[0];
  EXPECT_EQ(first.refund_of_us, 50 * kSecond);
  EXPECT_EQ(first.dedupe->id, kId);
  grant(first, 8);
  EXPECT_FALSE(split_.has_round());
  split_.settle(params_);
  EXPECT_EQ(call.verdict, kAllowed);
  EXPECT_FALSE(call.replayed);
  EXPECT_EQ(call.results_known, 3u);
  const auto refunds = split_.begin_refunds(77);
  ASSERT_THAT(refunds, SizeIs(1));
  EXPECT_EQ(refunds[0]->slot, b_);
  EXPECT_EQ(refunds[0]->refund_of_us, 51 * kSecond) << "its own time";
  EXPECT_EQ(refunds[0]->charges[0].cost, 5);
  EXPECT_FALSE(refunds[0]->dedupe);
}

// Nodes without a secret of their own share one that is known, so a holder can write an id that claims more
// units.
TEST_F(SplitReturnTest, NoSlotGivesBackMoreThanTheRecordSaysWasGranted) {
  TestCall call(wants(1000));
  make_return(call, 51 * kSecond, 51 * kSecond);
  begin(call);
  grant(split_.parts()[0], 3);
  split_.settle(params_);
  EXPECT_EQ(given_back(), (Units{{b_, 3}, {c_, 3}}));
}

TEST_F(SplitReturnTest, WhereTheRecordWasNotRemovedNothingComesBack) {
  for (const bool is_gone : {true, false}) {
    TestCall call(wants(5));
    make_return(call, 51 * kSecond, 0);  // when slot C was charged is not known
    begin(call);
    answer(split_.parts()[0], is_gone ? kAllowed : kNoAnswer, 1, is_gone);
    split_.settle(params_);
    EXPECT_EQ(call.replayed, is_gone);
    EXPECT_EQ(call.verdict, is_gone ? kAllowed : kNoAnswer);
    EXPECT_THAT(split_.begin_refunds(77), IsEmpty());
  }
}

TEST_F(SplitReturnTest, ALeaseThatWasSpentIsOnlyRemoved) {
  TestCall call(wants(0));
  make_return(call, 51 * kSecond, 51 * kSecond);
  begin(call);
  answer(split_.parts()[0], kAllowed);
  split_.settle(params_);
  EXPECT_THAT(split_.begin_refunds(77), IsEmpty());
}

}  // namespace
}  // namespace sluice

#include <gmock/gmock.h>

#include <atomic>
#include <thread>

#include "base/limits.h"
#include "ledger/anchor.h"
#include "ledger/prune.h"
#include "ledger/testing/ledger_conformance.h"

namespace sluice::ledger {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST_P(LedgerPruning, AnEmptyLedgerHasNothingOld) {
  EXPECT_EQ(pruned(), 0);
  EXPECT_EQ(ledger().revision(), 0);
}

TEST_P(LedgerPruning, OldEventsAndFormerVersionsGoAndTheRestStays) {
  write_at(kOld, policy("p", "1"));                              // 1, stays: it can be restored
  write_at(kOld, event("e", "private"), "r-1");                  // 2
  write_at(kOld, {Kind::kUser, "ann", "put", "1"});              // 3
  write_at(kOld, policy("p", "2"));                              // 4, stays
  write_at(kOld, {Kind::kUser, "ann", "put", "2"});              // 5, stays: it is in force
  write_at(kOld, {Kind::kToken, "t", "put", "1"});               // 6
  write_at(kOld, {Kind::kToken, "t", "delete", ""});             // 7, stays: its version must not be reused
  write_at(kOld, {Kind::kSwitch, "switch", "open", "1"});        // 8
  write_at(kNow, {Kind::kSwitch, "switch", "normal", "2"});      // 9, new
  write_at(kOld, event("written by a clock that is slow", ""));  // 10
  write_at(kNow, event("e", "young"), "r-2");                    // 11
  EXPECT_EQ(pruned(), 5);
  EXPECT_THAT(revisions(), ElementsAre(1, 4, 5, 7, 9, 11, 12));
  expect_chain_holds();
  EXPECT_EQ(pruned(), 0);

  EXPECT_THAT(ledger().history(Kind::kPolicy, "p", kEveryVersion, 10).value(), testing::SizeIs(2));
  EXPECT_THAT(ledger().history(Kind::kUser, "ann", kEveryVersion, 10).value(), testing::SizeIs(1));
  EXPECT_EQ(ledger().find(Kind::kUser, "ann", 1).value(), std::nullopt);
  EXPECT_EQ(ledger().find(Kind::kUser, "ann", 2).value()->body, "2");
  EXPECT_THAT(ledger().find_request("token ops-1", "r-1").value(), IsEmpty());
  EXPECT_THAT(ledger().find_request("token ops-1", "r-2").value(), testing::SizeIs(1));
  EXPECT_THAT(ledger().read_after(1, 2).value(), testing::SizeIs(2)) << "whatever is missing in between";
  EXPECT_EQ(ledger().revision(), 12);

  EXPECT_EQ(write_at(kNow, event("e", "private"), "r-1").revision, 13) << "it is a new request by now";
  EXPECT_EQ(write_at(kNow, {Kind::kUser, "ann", "put", "3"}).version, 3);
  EXPECT_EQ(write_at(kNow, {Kind::kToken, "t", "put", "2"}).version, 3);
  expect_chain_holds();
}

// Each of them fills a page.
TEST_P(LedgerPruning, LargeNewRecordsDoNotKeepOldOnesAfterThem) {
  const std::string large(kRecordBodyBytesMax, 'x');
  for (int i = 0; i < 5; ++i) write_at(kNow, policy("p" + std::to_string(i), large));
  write_at(kOld, event("written by a clock that is slow", ""));
  EXPECT_EQ(pruned(), 1);
  write_at(kOld, event("e", ""));
  EXPECT_EQ(pruned(), 1) << "behind the anchor of the first, too";
  expect_chain_holds();
}

TEST_P(LedgerPruning, TheAnchorSaysWhatWasRemoved) {
  write_at(kOld, policy("p", "1"));
  const Record last = write_at(kOld, event("e", "{}"));
  EXPECT_EQ(pruned(), 1);
  const auto anchor = find_anchor(ledger()).value();
  ASSERT_TRUE(anchor);
  EXPECT_EQ(anchor->anchor.revision, 2);
  EXPECT_EQ(anchor->anchor.hash, last.hash) << "whose record is gone";
  EXPECT_EQ(anchor->anchor.kept, 1);
  EXPECT_EQ(anchor->anchor.removed, 1);
  EXPECT_EQ(anchor->anchor.before_us, kBefore);
  EXPECT_EQ(anchor->record.revision, 3);
  EXPECT_EQ(anchor->record.actor, "retention");
  EXPECT_EQ(anchor->record.at_us, kNow);
}

TEST_P(LedgerPruning, NothingYoungerGoes) {
  for (const std::int64_t at : {kBefore - 1, kBefore, kBefore + 1, kNow}) write_at(at, event("e", "{}"));
  EXPECT_EQ(pruned(), 0) << "it waits for more than a few";
  write_at(kBefore - kPruneSlackUs - 1, event("e", "{}"));
  EXPECT_EQ(pruned(), 2);
  EXPECT_THAT(revisions(), ElementsAre(2, 3, 4, 6));
  expect_chain_holds();
}

TEST_P(LedgerPruning, WhatWasKeptGoesWhenItIsNoLongerInForce) {
  write_at(kOld, {Kind::kUser, "ann", "put", "1"});
  write_at(kOld, event("e", "{}"));
  EXPECT_EQ(pruned(), 1);
  write_at(kNow, {Kind::kUser, "ann", "put", "2"});
  EXPECT_EQ(pruned(), 0);
  const std::int64_t later = kNow + 100 * kDay;
  write_at(later, event("e", "{}"));
  EXPECT_EQ(prune(ledger(), later - 90 * kDay, later), 1) << "what she had";
  EXPECT_THAT(revisions(), ElementsAre(3, 4, 5, 6));
  expect_chain_holds();
}

TEST_P(LedgerPruning, GoesStepByStepAndEachOfThemHolds) {
  Change many = change(event("e0", "{}"));
  many.at_us = kOld;
  for (int i = 1; i < kPrunedPerStep + 10; ++i) many.drafts.push_back(event("e" + std::to_string(i), "{}"));
  ASSERT_TRUE(ledger().append(many));
  write_at(kOld, policy("p", "1"));
  EXPECT_EQ(pruned(), kPrunedPerStep);
  expect_chain_holds();
  EXPECT_EQ(pruned(), 10);
  expect_chain_holds();
  EXPECT_EQ(pruned(), 0);
  EXPECT_EQ(revisions().size(), 3u) << "a policy and two anchors";
}

TEST_P(LedgerPruning, ManyMayDoItAtOnceBesideWriters) {
  Change many = change(event("e0", "{}"));
  many.at_us = kOld;
  for (int i = 1; i < 500; ++i) many.drafts.push_back(event("e" + std::to_string(i), "{}"));
  ASSERT_TRUE(ledger().append(many));
  std::atomic<std::int64_t> removed = 0;
  const auto sweep = [&](Ledger& mine) {
    for (int i = 0; i < 5; ++i) removed += prune(mine, kBefore, kNow).value();
  };
  const auto second = another(), writer = another();
  std::thread one([&] { sweep(ledger()); }), two([&] { sweep(*second); }), three([&] {
    for (int i = 0; i < 20; ++i) EXPECT_TRUE(writer->append(change(policy("p", std::to_string(i)))));
  });
  for (std::thread* thread : {&one, &two, &three}) thread->join();
  EXPECT_EQ(removed, 500) << "each once";
  EXPECT_EQ(ledger().history(Kind::kPolicy, "p", kEveryVersion, 100).value().size(), 20u);
  expect_chain_holds();
}

}  // namespace
}  // namespace sluice::ledger

#include "ledger/verify.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sqlite3.h>

#include <functional>
#include <span>
#include <utility>

#include "ledger/prune.h"
#include "ledger/sqlite/sqlite_ledger.h"
#include "ledger/testing/memory_ledger.h"
#include "ledger/testing/temp_folder.h"

namespace sluice::ledger {
namespace {

using testing::HasSubstr;

constexpr std::int64_t kNow = 1'800'000'000'000'000, kDay = 86'400LL * 1'000'000, kKept = 90 * kDay;
constexpr std::int64_t kOld = kNow - kKept - 2 * kDay;

void write(Ledger& ledger, Kind kind, std::string name, std::string body, std::int64_t at_us) {
  const Change change{
      .drafts = {{kind, std::move(name), "put", std::move(body)}}, .actor = "test", .at_us = at_us};
  ASSERT_TRUE(ledger.append(change));
}

// Five records: a policy in three versions, an event, a user.
void fill(Ledger& ledger) {
  for (int i = 1; i <= 3; ++i) write(ledger, Kind::kPolicy, "p", "{\"v\":" + std::to_string(i) + "}", i);
  write(ledger, Kind::kEvent, "key:1", "{}", 4);
  write(ledger, Kind::kUser, "ann", "{}", 5);
}

std::string finding(Ledger& ledger, const std::optional<NotedHash>& noted = {}) {
  const auto found = verify_ledger(ledger, {.noted = noted});
  if (found) return "fine";
  EXPECT_EQ(found.error().code, ErrorCode::kFailedPrecondition) << found.error().message;
  return found.error().message;
}

TEST(VerifyLedger, TellsWhereItBeginsAndEnds) {
  MemoryLedger ledger(std::make_shared<MemoryDatabase>());
  EXPECT_EQ(verify_ledger(ledger).value().revision, 0);
  fill(ledger);
  const auto found = verify_ledger(ledger).value();
  EXPECT_EQ(found.revision, 5);
  EXPECT_EQ(found.records, 5);
  EXPECT_EQ(found.first_at_us, 1);
  EXPECT_EQ(found.last_at_us, 5);
  EXPECT_EQ(found.hash, ledger.read_after(4, 1).value().front().hash);
}

TEST(VerifyLedger, ReadsMoreThanOnePage) {
  MemoryLedger ledger(std::make_shared<MemoryDatabase>());
  Change change{.actor = "test", .at_us = 1};
  for (int i = 0; i < 2500; ++i) change.drafts.push_back({Kind::kUser, "u" + std::to_string(i), "put", "{}"});
  ASSERT_TRUE(ledger.append(change));
  EXPECT_EQ(verify_ledger(ledger).value().revision, 2500);
}

TEST(VerifyLedger, TheNotedHashHolds) {
  MemoryLedger ledger(std::make_shared<MemoryDatabase>());
  fill(ledger);
  const NotedHash noted{3, ledger.read_after(2, 1).value().front().hash};
  EXPECT_EQ(finding(ledger, noted), "fine");

  MemoryLedger rewritten(std::make_shared<MemoryDatabase>());
  for (int i = 1; i <= 5; ++i) write(rewritten, Kind::kPolicy, "p", "{\"other\":1}", i);
  EXPECT_EQ(finding(rewritten), "fine") << "whole in itself";
  EXPECT_THAT(finding(rewritten, noted), HasSubstr("revision 3: its hash is not the one that was noted"));

  MemoryLedger cut(std::make_shared<MemoryDatabase>());
  write(cut, Kind::kPolicy, "p", "{\"v\":1}", 1);
  EXPECT_THAT(finding(cut, noted),
              HasSubstr("revision 2: it is missing; the ledger was noted to reach revision 3"));
}

TEST(VerifyLedger, ADatabaseThatIsAwayIsNoFinding) {
  const auto database = std::make_shared<MemoryDatabase>();
  MemoryLedger ledger(database);
  database->set_available(false);
  EXPECT_EQ(verify_ledger(ledger).error().code, ErrorCode::kUnavailable);
}

// A list that is read in pages, sorted by revision, while others write: a document that is rewritten moves
// from a page not read yet to beyond the end.
class MovingLedger final : public MemoryLedger {
 public:
  using MemoryLedger::MemoryLedger;
  Result<void> for_each_listing(const std::function<void(Listing&&)>& visit) override {
    if (is_written_meanwhile) write(*this, Kind::kPolicy, "p", "{\"v\":4}", 6);
    return MemoryLedger::for_each_listing([&](Listing&& listing) {
      if (listing.name != "p") visit(std::move(listing));
    });
  }
  bool is_written_meanwhile = true;
};

TEST(VerifyLedger, WhatIsWrittenMeanwhileIsNoFinding) {
  MovingLedger ledger(std::make_shared<MemoryDatabase>());
  fill(ledger);
  EXPECT_EQ(finding(ledger), "fine");
  ledger.is_written_meanwhile = false;
  EXPECT_EQ(finding(ledger), "revision 6: the list of documents has lost policy 'p'");
}

using Done = std::pair<const char*, const char*>;  // the tampering, and what is found

void expect_findings(std::span<const Done> table, const std::function<void(Ledger&)>& prepare) {
  for (const auto& [sql, expected] : table) {
    const TempFolder folder;
    const std::string path = folder.file("ledger.db");
    const auto ledger = SqliteLedger::open(path).value();
    prepare(*ledger);
    EXPECT_EQ(finding(*ledger), "fine");
    sqlite3* handle = nullptr;
    ASSERT_EQ(sqlite3_open(path.c_str(), &handle), SQLITE_OK);
    EXPECT_EQ(sqlite3_exec(handle, sql, nullptr, nullptr, nullptr), SQLITE_OK) << sqlite3_errmsg(handle);
    sqlite3_close(handle);
    EXPECT_THAT(finding(*ledger), HasSubstr(expected)) << sql;
  }
}

TEST(VerifyLedger, FindsWhatWasDoneToTheFile) {
  const Done table[] = {
      {"UPDATE records SET body = '{}' WHERE revision = 2", "revision 2: its body is not what was written"},
      {"UPDATE records SET actor = 'nobody' WHERE revision = 2", "revision 2: its hash does not match"},
      {"UPDATE records SET body = '' WHERE revision = 4", "revision 4: its body is not what was written"},
      {"UPDATE records SET kind = 'dragon' WHERE revision = 4", "revision 4: unknown kind 'dragon'"},
      {"DELETE FROM records WHERE revision = 2", "revision 2: it is missing; revision 3 follows"},
      {"DELETE FROM records WHERE revision = 1", "revision 1: it is missing; revision 2 follows"},
      {"UPDATE documents SET revision = 1 WHERE name = 'p'",
       "revision 1: the list of documents calls it the newest version of policy 'p'"},
      {"UPDATE documents SET version = 2 WHERE name = 'p'",
       "revision 3: the list of documents calls it version 2 of policy 'p', which it is not"},
      {"UPDATE documents SET withdrawn = 1 WHERE name = 'p'",
       "revision 3: the list of documents calls it version 3 of policy 'p', withdrawn, which it is not"},
      {"UPDATE documents SET name = 'q' WHERE name = 'p'",
       "revision 3: the list of documents calls it the newest version of policy 'q'"},
      {"UPDATE documents SET revision = 99 WHERE name = 'p'",
       "revision 99: it is missing, but the list of documents names it"},
      {"DELETE FROM documents WHERE name = 'ann'", "revision 5: the list of documents has lost user 'ann'"},
      {"DELETE FROM records WHERE revision = 5",
       "revision 5: it is missing, but the list of documents names it"},
      {"UPDATE records SET revision = -1 WHERE revision = 2; UPDATE records SET revision = 2 WHERE revision "
       "= 3;"
       "UPDATE records SET revision = 3 WHERE revision = -1",
       "revision 2: its hash does not match"},
  };
  expect_findings(table, fill);
}

// Old records of all kinds, of which three are kept (1, 3, 5); the chain starts at 7.
void fill_and_prune(Ledger& ledger) {
  write(ledger, Kind::kPolicy, "p", "{\"v\":1}", kOld);
  write(ledger, Kind::kUser, "ann", "{\"v\":1}", kOld);
  write(ledger, Kind::kPolicy, "p", "{\"v\":2}", kOld);
  write(ledger, Kind::kEvent, "key:1", "{}", kOld);
  write(ledger, Kind::kUser, "ann", "{\"v\":2}", kOld);
  write(ledger, Kind::kEvent, "key:2", "{}", kOld);
  write(ledger, Kind::kEvent, "key:3", "{}", kNow);
  ASSERT_EQ(prune(ledger, kNow - kKept, kNow), 3);
  write(ledger, Kind::kEvent, "key:4", "{}", kNow);
}

TEST(VerifyLedger, WhatIsLeftOfOldRecordsIsVerified) {
  MemoryLedger ledger(std::make_shared<MemoryDatabase>());
  fill_and_prune(ledger);
  const auto found = verify_ledger(ledger, {.kept_us = kKept}).value();
  EXPECT_EQ(found.records, 6);
  EXPECT_EQ(found.revision, 9);
  EXPECT_EQ(found.anchor->revision, 6);
  EXPECT_EQ(found.anchor->kept, 3);
  EXPECT_THAT(verify_ledger(ledger, {.kept_us = kKept + 1}).error().message,
              HasSubstr("revision 8: it removed records that were only 90 days old"));
}

TEST(VerifyLedger, FindsWhatWasDoneToWhatIsLeftOfOldRecords) {
  constexpr const char* kOthers =
      "revision 6: the records kept up to it are not those that revision 8 states";
  const Done table[] = {
      {"DELETE FROM records WHERE revision = 1", kOthers},
      {"DELETE FROM records WHERE revision IN (1, 3)", kOthers},
      {"UPDATE records SET actor = 'nobody' WHERE revision = 3", kOthers},
      {"UPDATE records SET hash = zeroblob(32) WHERE revision = 3", kOthers},
      {"UPDATE records SET revision = 4 WHERE revision = 3", kOthers},
      {"UPDATE records SET body = '{}' WHERE revision = 5", "revision 5: its body is not what was written"},
      {"INSERT INTO records SELECT 2, kind, 'x', 0, action, body, actor, reason, at_us, request_id, "
       "body_hash, hash "
       "FROM records WHERE revision = 7",
       kOthers},
      {"DELETE FROM records WHERE revision = 7", "revision 7: it is missing; revision 8 follows"},
      {"DELETE FROM records WHERE revision = 8", "revision 2: it is missing; revision 3 follows"},
      {"UPDATE records SET body = replace(body, '\"up_to\":6', '\"up_to\":5') WHERE revision = 8",
       "revision 6: it is missing; revision 7 follows"},
      {"UPDATE records SET body = '{}' WHERE revision = 8",
       "revision 8: it does not state which records were removed before it"},
      {"DELETE FROM documents WHERE kind = 'retention'",
       "revision 8: the list of documents has lost retention 'audit'"},
  };
  expect_findings(table, fill_and_prune);
}

TEST(VerifyLedger, ANotedHashOfARecordThatIsGoneProvesNothing) {
  MemoryLedger ledger(std::make_shared<MemoryDatabase>());
  fill_and_prune(ledger);
  const auto anchor = find_anchor(ledger).value()->anchor;
  EXPECT_EQ(finding(ledger, NotedHash{6, anchor.hash}), "fine") << "the last one before the chain";
  EXPECT_THAT(finding(ledger, NotedHash{6, std::string(32, 'x')}), HasSubstr("not the one that was noted"));
  EXPECT_EQ(finding(ledger, NotedHash{3, ledger.read_after(2, 1).value().front().hash}), "fine")
      << "it is kept";
  const auto gone = verify_ledger(ledger, {.noted = NotedHash{4, std::string(32, 'x')}});
  EXPECT_EQ(gone.error().code, ErrorCode::kNotFound);
  EXPECT_THAT(gone.error().message, HasSubstr("revision 4 was pruned"));
}

// Old records are removed during a read.
class PrunedMeanwhile final : public MemoryLedger {
 public:
  using MemoryLedger::MemoryLedger;
  Result<std::int64_t> revision() override {
    if (std::exchange(is_due, false)) EXPECT_EQ(prune(*this, kNow - kKept, kNow), 3);
    return MemoryLedger::revision();
  }
  bool is_due = false;
};

TEST(VerifyLedger, WhatIsRemovedMeanwhileIsNoFinding) {
  PrunedMeanwhile ledger(std::make_shared<MemoryDatabase>());
  for (int i = 0; i < 3; ++i) write(ledger, Kind::kEvent, "key", "{}", kOld);
  ledger.is_due = true;
  EXPECT_EQ(finding(ledger), "fine");
  EXPECT_EQ(ledger.read_after(0, 10).value().size(), 1u);
}

}  // namespace
}  // namespace sluice::ledger

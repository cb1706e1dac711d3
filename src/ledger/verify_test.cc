#include "ledger/verify.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sqlite3.h>

#include "ledger/memory_ledger.h"
#include "ledger/sqlite_ledger.h"
#include "ledger/temp_folder.h"

namespace sluice::ledger {
namespace {

using testing::HasSubstr;

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
  const auto found = verify_ledger(ledger, noted);
  if (found) return "fine";
  EXPECT_EQ(found.error().code, ErrorCode::kFailedPrecondition) << found.error().message;
  return found.error().message;
}

TEST(VerifyLedger, TellsWhereItBeginsAndEnds) {
  MemoryLedger ledger(std::make_shared<MemoryDatabase>());
  EXPECT_EQ(verify_ledger(ledger, {}).value().revision, 0);
  fill(ledger);
  const auto found = verify_ledger(ledger, {}).value();
  EXPECT_EQ(found.revision, 5);
  EXPECT_EQ(found.first_at_us, 1);
  EXPECT_EQ(found.last_at_us, 5);
  EXPECT_EQ(found.hash, ledger.read_after(4, 1).value().front().hash);
}

TEST(VerifyLedger, ReadsMoreThanOnePage) {
  MemoryLedger ledger(std::make_shared<MemoryDatabase>());
  Change change{.actor = "test", .at_us = 1};
  for (int i = 0; i < 2500; ++i) change.drafts.push_back({Kind::kUser, "u" + std::to_string(i), "put", "{}"});
  ASSERT_TRUE(ledger.append(change));
  EXPECT_EQ(verify_ledger(ledger, {}).value().revision, 2500);
}

TEST(VerifyLedger, AForgottenEventIsNoTampering) {
  MemoryLedger ledger(std::make_shared<MemoryDatabase>());
  fill(ledger);
  EXPECT_EQ(ledger.forget_events_before(100), 1);
  EXPECT_EQ(finding(ledger), "fine");
}

TEST(VerifyLedger, AYoungEventWithoutItsBodyIs) {
  MemoryLedger ledger(std::make_shared<MemoryDatabase>());
  fill(ledger);
  write(ledger, Kind::kEvent, "key:2", "", 6);
  EXPECT_TRUE(verify_ledger(ledger, {}, 0)) << "one that never had a body has lost nothing";
  EXPECT_EQ(ledger.forget_events_before(5), 1);
  EXPECT_TRUE(verify_ledger(ledger, {}, 5));
  const auto found = verify_ledger(ledger, {}, 4);
  ASSERT_FALSE(found);
  EXPECT_THAT(found.error().message, HasSubstr("revision 4: its body is gone"));
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
  EXPECT_EQ(verify_ledger(ledger, {}).error().code, ErrorCode::kUnavailable);
}

// As a list in pages, sorted by revision, may come out while others write: a document that is written again
// moves from a page that is still to come to beyond the end.
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

// What a stranger does to the file, and what is found.
TEST(VerifyLedger, FindsWhatWasDoneToTheFile) {
  const std::pair<const char*, const char*> table[] = {
      {"UPDATE records SET body = '{}' WHERE revision = 2", "revision 2: its body is not what was written"},
      {"UPDATE records SET actor = 'nobody' WHERE revision = 2", "revision 2: its hash does not fit"},
      {"UPDATE records SET kind = 'dragon' WHERE revision = 4", "revision 4: nobody knows the kind 'dragon'"},
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
       "revision 2: its hash does not fit"},
  };
  for (const auto& [sql, expected] : table) {
    const TempFolder folder;
    const std::string path = folder.file("ledger.db");
    const auto ledger = SqliteLedger::open(path).value();
    fill(*ledger);
    EXPECT_EQ(finding(*ledger), "fine");
    sqlite3* handle = nullptr;
    ASSERT_EQ(sqlite3_open(path.c_str(), &handle), SQLITE_OK);
    EXPECT_EQ(sqlite3_exec(handle, sql, nullptr, nullptr, nullptr), SQLITE_OK) << sqlite3_errmsg(handle);
    sqlite3_close(handle);
    EXPECT_THAT(finding(*ledger), HasSubstr(expected)) << sql;
  }
}

}  // namespace
}  // namespace sluice::ledger

// The big red switch between operators, the ledger and other nodes, and the outbox in which its records wait.
#include "control/switch_controller.h"
#include "base/time_units.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "base/limits.h"
#include "base/limits/switch_limits.h"
#include "control/outbox.h"
#include "ledger/testing/memory_ledger.h"
#include "ledger/testing/temp_folder.h"

namespace sluice::control {
namespace {

using ledger::Kind;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr std::int64_t kNowUs = 1'800'000'000 * kSecondUs;

// The switch of one node with everything around it except the threads.
struct SwitchNode {
  explicit SwitchNode(const std::shared_ptr<ledger::MemoryDatabase>& database, const std::string& folder = "")
      : ledger(database), outbox(clock, log_to(), folder, "ledger") {
    follower.add(Kind::kSwitch, controller);
    for (const ledger::Change& change : outbox.take_up()) outbox.post(change, controller.take_up(change));
    loaded = follower.load().has_value();
  }
  EventLog log_to() {
    return [this](LogEvent, std::string_view sentence) { log.emplace_back(sentence); };
  }
  void open(const std::string& reason, std::int64_t seconds = kSwitchSecondsDefault) {
    controller.turn({true, "token ops", reason, seconds});
  }
  void close() { controller.turn({false, "token ops", "", 0}); }
  bool is_open() {
    controller.tick();
    return big_switch.is_open();
  }
  // "open normal": the records of the switch in the ledger.
  std::string written() {
    std::string all;
    const auto records = ledger.read_after(0, 100).value();
    for (const ledger::Record& record : records) all += (all.empty() ? "" : " ") + record.action;
    return all;
  }

  ManualClock clock{kNowUs};
  std::vector<std::string> log;
  ledger::MemoryLedger ledger;
  LedgerFollower follower{ledger};
  static inline int last_request = 0;
  std::vector<ledger::Change> posted;
  Outbox outbox;
  BigSwitch big_switch;
  SwitchController controller{big_switch, clock, clock,
                              [this](ledger::Change change, Outbox::Revise revise) {
                                change.request_id = "request " + std::to_string(++last_request);
                                posted.push_back(change);
                                outbox.post(std::move(change), std::move(revise));
                              },
                              log_to()};
  bool loaded = false;
};

class SwitchControllerTest : public ::testing::Test {
 protected:
  static void pass(std::int64_t us, std::initializer_list<SwitchNode*> nodes) {
    for (SwitchNode* node : nodes) node->clock.advance(us);
  }

  std::shared_ptr<ledger::MemoryDatabase> database = std::make_shared<ledger::MemoryDatabase>();
};

TEST_F(SwitchControllerTest, IsInForceAtOnceAndElsewhereThroughTheLedger) {
  SwitchNode here{database}, there{database};
  here.open("store is slow");
  EXPECT_TRUE(here.is_open());
  EXPECT_THAT(here.controller.problem(), HasSubstr("open until 2027-01-15T09:00:00Z"));
  EXPECT_THAT(here.controller.problem(), HasSubstr("(token ops: store is slow)"));
  here.outbox.write(here.follower);
  ASSERT_TRUE(there.follower.follow());
  EXPECT_TRUE(there.is_open());
  EXPECT_EQ(there.controller.in_force().reason, "store is slow");
  there.close();
  EXPECT_FALSE(there.is_open());
  EXPECT_EQ(there.controller.problem(), "");
  there.outbox.write(there.follower);
  ASSERT_TRUE(here.follower.follow());
  EXPECT_FALSE(here.is_open());
  EXPECT_EQ(here.written(), "open normal");
}

TEST_F(SwitchControllerTest, RevertsByItself) {
  SwitchNode node{database};
  node.open("x", 10);
  node.clock.advance(10 * kSecondUs - 1);
  EXPECT_TRUE(node.is_open());
  node.clock.advance(1);
  EXPECT_FALSE(node.is_open());
  EXPECT_THAT(node.log.back(), HasSubstr("its time to live has expired"));
}

TEST_F(SwitchControllerTest, ANodeThatStartsFollowsAWordThatStillHolds) {
  SwitchNode here{database};
  here.open("x", 100);
  here.outbox.write(here.follower);
  SwitchNode started{database};
  EXPECT_TRUE(started.is_open());
  started.clock.advance(100 * kSecondUs);
  ASSERT_TRUE(started.follower.load());
  EXPECT_FALSE(started.is_open()) << "no later than the word said";
}

TEST_F(SwitchControllerTest, AWordOfThePastIsNotWorthALine) {
  SwitchNode here{database};
  here.open("x", 1);
  here.outbox.write(here.follower);
  SwitchNode later{std::make_shared<ledger::MemoryDatabase>()};
  later.clock.advance(3600 * kSecondUs);
  const ledger::Record record = here.ledger.read_after(0, 1)->front();
  const ledger::Record* records[] = {&record};
  EXPECT_TRUE(later.controller.apply(records).empty());
  EXPECT_FALSE(later.is_open());
  EXPECT_THAT(later.log, ElementsAre());
}

TEST_F(SwitchControllerTest, RecordsThatAreNeitherInTheDatabaseNorOnDiskAreAProblem) {
  const ledger::TempFolder folder;
  const std::string full = folder.path() + "/full";
  std::ofstream(full) << "not a folder";
  SwitchNode here{database, full};
  EXPECT_TRUE(here.outbox.can_keep_resets());
  database->set_available(false);
  here.open("x");
  here.outbox.save();
  EXPECT_THAT(here.outbox.problem(),
              HasSubstr("1 audit records wait for the policy database and would be lost"));
  EXPECT_FALSE(here.outbox.can_keep_resets());
  EXPECT_THAT(here.outbox.metrics(), HasSubstr("rate_limiter_audit_records_unsaved 1\n"));
  database->set_available(true);
  here.outbox.write(here.follower);
  EXPECT_EQ(here.outbox.problem(), "");
  EXPECT_TRUE(here.outbox.can_keep_resets());
  EXPECT_THAT(here.outbox.metrics(), HasSubstr("rate_limiter_audit_records_unsaved 0\n"));
}

TEST_F(SwitchControllerTest, WorksWithoutTheDatabaseAndIsWrittenLater) {
  SwitchNode here{database}, there{database};
  database->set_available(false);
  here.open("x");
  EXPECT_TRUE(here.is_open());
  here.outbox.write(here.follower);
  here.outbox.write(here.follower);
  EXPECT_EQ(here.outbox.waiting(), 1u);
  EXPECT_EQ(here.log.size(), 2u) << "that it is open, and that it could not be written: once";
  EXPECT_THAT(here.log.back(), HasSubstr("open of switch by token ops"));
  database->set_available(true);
  here.outbox.write(here.follower);
  EXPECT_EQ(here.outbox.waiting(), 1u) << "the database is left alone for a while";
  here.clock.advance(10 * kSecondUs);
  here.outbox.write(here.follower);
  EXPECT_EQ(here.outbox.waiting(), 0u);
  ASSERT_TRUE(there.follower.follow());
  EXPECT_TRUE(there.is_open());
}

TEST_F(SwitchControllerTest, TheLastWordWinsWhereverItWasWrittenFirst) {
  SwitchNode here{database}, there{database};
  database->set_available(false);
  here.open("x");
  pass(5 * kSecondUs, {&here, &there});
  there.close();
  database->set_available(true);
  there.outbox.write(there.follower);  // the newer order is written first
  here.outbox.write(here.follower);
  ASSERT_TRUE(there.follower.follow());
  EXPECT_FALSE(here.is_open());
  EXPECT_FALSE(there.is_open());
  EXPECT_EQ(here.written(), "normal open");
}

TEST_F(SwitchControllerTest, ALateWordIsNotedAndNeverComesIntoForce) {
  SwitchNode here{database}, there{database};
  database->set_available(false);
  here.open("store is slow");
  here.outbox.write(here.follower);
  pass(60 * kSecondUs, {&here, &there});
  there.close();
  database->set_available(true);
  there.outbox.write(there.follower);
  here.outbox.write(here.follower);
  EXPECT_FALSE(here.is_open());
  SwitchNode started{database};
  started.clock.set(here.clock.now_us());
  EXPECT_FALSE(started.is_open()) << "it reads the newest record of the switch only";
  const auto records = here.ledger.read_after(0, 10).value();
  ASSERT_EQ(records.size(), 2u);
  EXPECT_EQ(records[1].kind, Kind::kEvent);
  EXPECT_EQ(records[1].action, "open");
  EXPECT_EQ(records[1].reason, "store is slow");
  EXPECT_EQ(records[1].at_us, kNowUs) << "when it was said";
  EXPECT_THAT(records[1].body, HasSubstr(R"("superseded":true)"));
  EXPECT_THAT(here.log, testing::Contains(HasSubstr("a late change of the big red switch is only logged")));
}

TEST_F(SwitchControllerTest, OfTwoThatWaitedTheNewerWinsAlsoIfItIsWrittenSecond) {
  SwitchNode here{database}, there{database};
  database->set_available(false);
  there.close();
  pass(60 * kSecondUs, {&here, &there});
  here.open("x");
  pass(60 * kSecondUs, {&here, &there});
  database->set_available(true);
  here.outbox.write(here.follower);
  there.outbox.write(there.follower);
  EXPECT_TRUE(there.is_open());
  EXPECT_TRUE(SwitchNode(database).is_open());
  EXPECT_EQ(here.ledger.history(Kind::kSwitch, "switch", INT64_MAX, 10)->size(), 1u);
}

TEST_F(SwitchControllerTest, WithTheDatabaseThereItsOrderCountsWhateverClocksSay) {
  SwitchNode ahead{database}, here{database};
  ahead.clock.advance(60 * kSecondUs);
  ahead.open("x");
  ahead.outbox.write(ahead.follower);
  here.close();  // before it has read that
  here.outbox.write(here.follower);
  ASSERT_TRUE(ahead.follower.follow());
  EXPECT_FALSE(here.is_open());
  EXPECT_FALSE(ahead.is_open());
  EXPECT_FALSE(SwitchNode(database).is_open());
  EXPECT_EQ(here.ledger.history(Kind::kSwitch, "switch", INT64_MAX, 10)->size(), 2u);
}

TEST_F(SwitchControllerTest, WordsOfOneMomentAreTakenAlikeByAllNodes) {
  const ledger::Record open{.kind = Kind::kSwitch,
                            .name = "switch",
                            .body = R"({"mode":"open","until":"2027-01-15T09:00:00Z"})",
                            .at_us = kNowUs};
  ledger::Record normal = open;
  normal.body = R"({"mode":"normal"})";
  for (const bool open_first : {true, false}) {
    SwitchNode node{database};
    for (const bool is_open : {open_first, !open_first}) {
      const ledger::Record* records[] = {is_open ? &open : &normal};
      EXPECT_TRUE(node.controller.apply(records).empty());
    }
    EXPECT_FALSE(node.is_open()) << open_first;
  }
}

TEST_F(SwitchControllerTest, AWordThatWasWrittenThoughTheAnswerGotLostIsNotWrittenAgain) {
  SwitchNode here{database}, there{database};
  here.open("x");
  ASSERT_TRUE(here.ledger.append(here.posted.front()));
  pass(60 * kSecondUs, {&here, &there});
  there.close();
  there.outbox.write(there.follower);
  here.outbox.write(here.follower);
  EXPECT_EQ(here.outbox.waiting(), 0u);
  EXPECT_FALSE(here.is_open());
  EXPECT_EQ(here.written(), "open normal");
}

TEST_F(SwitchControllerTest, ATurnThatWaitsOutlivesTheProcess) {
  const ledger::TempFolder folder;
  SwitchNode other{database};
  other.open("x");
  other.outbox.write(other.follower);
  {
    SwitchNode here{database, folder.path()};
    EXPECT_TRUE(here.is_open());
    database->set_available(false);
    here.close();
    here.outbox.write(here.follower);
  }
  {
    SwitchNode again{database, folder.path()};
    EXPECT_FALSE(again.loaded);
    again.outbox.write(again.follower);
  }
  database->set_available(true);
  SwitchNode here{database, folder.path()};
  EXPECT_FALSE(here.is_open()) << "what it was told last is newer than what the ledger says";
  here.outbox.write(here.follower);
  EXPECT_EQ(here.written(), "open normal");
  ASSERT_TRUE(other.follower.follow());
  EXPECT_FALSE(other.is_open());
  EXPECT_EQ(SwitchNode(database, folder.path()).outbox.waiting(), 0u);
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

TEST_F(SwitchControllerTest, WhatIsSavedIsOnDiskBeforeTheDatabaseIsAsked) {
  const ledger::TempFolder folder;
  SwitchNode here{database, folder.path()};
  here.outbox.save();
  EXPECT_TRUE(std::filesystem::is_empty(folder.path())) << "nothing waits";
  here.open("x");
  here.outbox.save();
  EXPECT_EQ(SwitchNode(database, folder.path()).outbox.waiting(), 1u) << "as after kill -9";
  here.close();
  here.outbox.save();
  EXPECT_EQ(SwitchNode(database, folder.path()).outbox.waiting(), 2u);
  here.outbox.write(here.follower);
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

TEST_F(SwitchControllerTest, AnOpenThatWaitedOverARestartIsForTheLedgerToDecide) {
  const ledger::TempFolder folder;
  SwitchNode other{database};
  {
    SwitchNode here{database, folder.path()};
    database->set_available(false);
    here.open("x");
    here.outbox.write(here.follower);
  }
  {
    SwitchNode alone{database, folder.path()};
    EXPECT_FALSE(alone.is_open()) << "somebody may have closed it since";
  }
  database->set_available(true);
  pass(60 * kSecondUs, {&other});
  other.close();
  other.outbox.write(other.follower);
  SwitchNode here{database, folder.path()};
  here.outbox.write(here.follower);
  EXPECT_FALSE(here.is_open());
  EXPECT_EQ(here.written(), "normal open");
  EXPECT_EQ(here.ledger.history(Kind::kSwitch, "switch", INT64_MAX, 10)->size(), 1u);
}

TEST_F(SwitchControllerTest, WhatWaitedAndCannotBeReadIsTold) {
  const ledger::TempFolder folder;
  {
    SwitchNode here{database, folder.path()};
    database->set_available(false);
    here.open("x");
    here.outbox.write(here.follower);
  }
  const std::filesystem::path file = std::filesystem::directory_iterator(folder.path())->path();
  std::filesystem::resize_file(file, std::filesystem::file_size(file) - 1);
  SwitchNode here{database, folder.path()};
  EXPECT_THAT(here.log, ElementsAre(HasSubstr("when the last run ended are lost")));
}

TEST_F(SwitchControllerTest, ACopyTellsOfAnOpenSwitchAndDoesNotOpenIt) {
  SwitchNode here{database};
  here.open("store is slow");
  here.outbox.write(here.follower);
  const ledger::Record record = here.ledger.read_after(0, 1)->front();
  const ledger::Record* records[] = {&record};
  SwitchNode started{std::make_shared<ledger::MemoryDatabase>()};
  EXPECT_TRUE(started.controller.apply_copy(records).empty());
  EXPECT_FALSE(started.is_open()) << "somebody may have closed it since";
  EXPECT_THAT(started.controller.problem(),
              HasSubstr("was open until 2027-01-15T09:00:00Z (token ops: store is slow)"));
  EXPECT_THAT(started.log, ElementsAre(HasSubstr("only the database knows whether it still is")));

  EXPECT_TRUE(started.controller.apply(records).empty()) << "the ledger says so itself";
  EXPECT_TRUE(started.is_open());

  SwitchNode told{std::make_shared<ledger::MemoryDatabase>()};
  EXPECT_TRUE(told.controller.apply_copy(records).empty());
  told.close();
  EXPECT_EQ(told.controller.problem(), "");
  EXPECT_TRUE(told.controller.apply(records).empty());
  EXPECT_FALSE(told.is_open()) << "what was said here is newer";
}

TEST_F(SwitchControllerTest, AClockThatIsAheadCannotKeepItOpen) {
  SwitchNode ahead{database}, here{database};
  ahead.clock.advance(24LL * 3600 * kSecondUs);
  ahead.open("x");
  ahead.outbox.write(ahead.follower);
  ASSERT_TRUE(here.follower.follow());
  EXPECT_TRUE(here.is_open());
  here.close();
  EXPECT_FALSE(here.is_open());
}

TEST_F(SwitchControllerTest, AFileTurnsThisNodeAndIsAnEvent) {
  SwitchNode here{database}, there{database};
  here.controller.turn_by_file({true, "file", "x", 60});
  here.close();
  EXPECT_TRUE(here.is_open()) << "the file is still there";
  here.outbox.write(here.follower);
  ASSERT_TRUE(there.follower.follow());
  EXPECT_FALSE(there.is_open());
  const auto records = here.ledger.read_after(0, 10).value();
  ASSERT_EQ(records.size(), 2u);
  EXPECT_EQ(records[0].kind, Kind::kEvent);
  EXPECT_EQ(records[0].actor, "file");
  here.controller.turn_by_file({false, "file", "", 0});
  EXPECT_FALSE(here.is_open());
}

TEST_F(SwitchControllerTest, ARecordThatCannotBeReadIsAProblemAndTurnsNothing) {
  SwitchNode node{database};
  for (const char* body : {"[]", "{}", R"({"mode":"ajar"})", R"({"mode":"open"})",
                           R"({"mode":"open","until":"soon"})", R"({"mode":"open","until":7})"}) {
    const ledger::Record record{.kind = Kind::kSwitch, .name = "switch", .body = body, .at_us = kNowUs};
    const ledger::Record* records[] = {&record};
    EXPECT_EQ(node.controller.apply(records).size(), 1u) << body;
  }
  EXPECT_FALSE(node.is_open());
}

TEST_F(SwitchControllerTest, ARecordCannotHoldItOpenForEver) {
  SwitchNode node{database};
  const ledger::Record record{.kind = Kind::kSwitch,
                              .name = "switch",
                              .body = R"({"mode":"open","until":"2100-01-01T00:00:00Z"})",
                              .at_us = kNowUs};
  const ledger::Record* records[] = {&record};
  EXPECT_TRUE(node.controller.apply(records).empty());
  EXPECT_TRUE(node.is_open());
  node.clock.advance(kSwitchSecondsMax * kSecondUs);
  EXPECT_FALSE(node.is_open());
}

TEST_F(SwitchControllerTest, TheOutboxIsBoundedAndSaysWhatItLeavesOut) {
  SwitchNode node{database};
  const ledger::Change change{
      .drafts = {{.kind = Kind::kEvent, .name = "p", .action = "reset", .body = "{}"}},
      .actor = "ann",
      .at_us = 1};
  for (std::size_t i = 0; i < kOutboxMax; ++i) node.outbox.post(change);
  EXPECT_THAT(node.log, ElementsAre());
  node.outbox.post(change);
  EXPECT_THAT(node.log, ElementsAre(HasSubstr("reset of p by ann")));
  node.outbox.write(node.follower);
  EXPECT_EQ(node.ledger.revision().value(), static_cast<std::int64_t>(kOutboxMax));
}

TEST_F(SwitchControllerTest, TheNewestCommandIsNeverLeftOut) {
  const ledger::TempFolder folder;
  SwitchNode node{database, folder.path()};
  for (std::size_t i = 0; i < kOutboxMax; ++i) node.open("older");
  EXPECT_EQ(node.outbox.waiting(), kOutboxMax);
  node.close();
  EXPECT_EQ(node.outbox.waiting(), kOutboxMax) << "it took the place of an older one";
  EXPECT_THAT(node.log.back(), HasSubstr("an audit log entry was dropped"));
  EXPECT_THAT(node.log.back(), HasSubstr("open of switch by token ops"));
  node.outbox.save();
  const auto waiting = Outbox(node.clock, node.log_to(), folder.path(), "ledger").take_up();
  ASSERT_EQ(waiting.size(), kOutboxMax);
  EXPECT_EQ(waiting.front().request_id, node.posted.front().request_id) << "it may be on its way";
  EXPECT_EQ(waiting.back().drafts.front().action, "normal");
}

TEST_F(SwitchControllerTest, WhatWasDoneIsRecordedWhateverItsTextsAre) {
  SwitchNode node{database};
  node.outbox.post({.drafts = {{.kind = Kind::kEvent,
                                .name = std::string("x\0y", 3),
                                .action = "reset",
                                .body = "{\"resource\":\"\xff\"}"}},
                    .actor = std::string(kActorBytesMax - 1, 'a') + "\u00fcber",
                    .reason = "\xffwhy",
                    .at_us = 1});
  node.outbox.write(node.follower);
  const auto records = node.ledger.read_after(0, 10).value();
  ASSERT_EQ(records.size(), 1u);
  EXPECT_EQ(records[0].name, "x\uFFFDy");
  EXPECT_EQ(records[0].body, "{\"resource\":\"\uFFFD\"}");
  EXPECT_EQ(records[0].actor, std::string(kActorBytesMax - 1, 'a'));
  EXPECT_EQ(records[0].reason, "\uFFFDwhy");
}

TEST_F(SwitchControllerTest, WhatTheDatabaseWillNeverTakeDoesNotStopTheRest) {
  SwitchNode node{database};
  node.outbox.post({.drafts = {{.kind = Kind::kEvent, .name = "", .action = "reset", .body = "{}"}},
                    .actor = "ann",
                    .at_us = 1});
  node.open("x");
  node.outbox.write(node.follower);
  EXPECT_EQ(node.outbox.waiting(), 0u);
  EXPECT_EQ(node.written(), "open");
}

}  // namespace
}  // namespace sluice::control

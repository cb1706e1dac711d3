// A node starts, and its database is not what it was when the copy was made: no limit is lifted by that.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/secret/sealed_file.h"
#include "control/testing/copying_node.h"
#include "control/testing/ledger_follower_fixture.h"
#include "ledger/testing/temp_folder.h"

namespace sluice::control {
namespace {

using ledger::Kind;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class LostLedgerTest : public ::testing::Test {
 protected:
  // Three revisions, and a copy of the last. The node is gone then.
  void SetUp() override {
    CopyingNode node(database, folder.path());
    ASSERT_TRUE(node.follower.load());
    ASSERT_TRUE(node.put("a", policy_body("a", "10/d")));
    ASSERT_TRUE(node.put("b", policy_body("b", "1/s")));
    ASSERT_TRUE(node.put("a", policy_body("a", "2/d")));
    ASSERT_TRUE(node.follower.keep_copy(clock));
    path = node.copy.path();
  }

  // Without a copy of its own.
  void write_elsewhere(const std::string& id, const std::string& rate) {
    ControlNode other(database);
    ASSERT_TRUE(other.follower.load());
    ASSERT_TRUE(other.put(id, policy_body(id, rate)));
  }

  void expect_the_copy_in_force() {
    CopyingNode next(database, folder.path());
    const std::int64_t revision = next.ledger.revision().value();
    const auto loaded = next.follower.load();
    ASSERT_FALSE(loaded);
    EXPECT_EQ(loaded.error().code, ErrorCode::kUnavailable);
    EXPECT_THAT(loaded.error().message,
                AllOf(HasSubstr("does not have revision 3 of 1970-01-01T00:00:00"), HasSubstr(path),
                      HasSubstr("restore the database, or remove that file and restart this node")));
    EXPECT_EQ(next.in_force(), "") << "nothing of what the database says";
    ASSERT_TRUE(next.follower.restore());
    EXPECT_EQ(next.in_force(), "a#2 b#1");
    const auto refused = next.put("c", policy_body("c", "1/s"));
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::kUnavailable);
    ASSERT_TRUE(next.follower.keep_copy(clock));
    EXPECT_EQ(next.ledger.revision(), revision) << "nothing is written";
    EXPECT_EQ(next.copy.read().value().revision, 3) << "nor forgotten";
  }

  // What a start has in force by the database's word.
  std::string loaded(const std::string& state_dir, const std::string& of = "ledger") {
    CopyingNode next(database, state_dir, of);
    const auto loaded = next.follower.load();
    return loaded ? next.in_force() : loaded.error().message;
  }

  // As they were written before hashes were kept.
  void take_the_hash_from_the_copy() {
    const std::string bytes = read_sealed_file(path, 1 << 20).value();
    FieldReader fields(bytes);
    std::string old;
    append_field(old, "sluice: all of a ledger");
    static_cast<void>(fields.next());
    for (int i = 1; i < 4; ++i) append_field(old, fields.next().value());
    static_cast<void>(fields.next());
    while (!fields.at_end()) append_field(old, fields.next().value());
    ASSERT_TRUE(write_sealed_file(path, old));
  }

  ledger::TempFolder folder;
  std::shared_ptr<ledger::MemoryDatabase> database = std::make_shared<ledger::MemoryDatabase>();
  ManualClock clock{1'000'000};
  std::string path;
};

TEST_F(LostLedgerTest, AStartOnTheSameDatabaseIsNoLoss) {
  EXPECT_EQ(loaded(folder.path()), "a#2 b#1");
  write_elsewhere("c", "1/s");
  EXPECT_EQ(loaded(folder.path()), "a#2 b#1 c#1");
}

TEST_F(LostLedgerTest, AnEmptyDatabaseIsNotBelieved) {
  database->go_back_to(0);
  expect_the_copy_in_force();
}

TEST_F(LostLedgerTest, AnOlderOneIsNotBelieved) {
  database->go_back_to(2);
  expect_the_copy_in_force();
}

TEST_F(LostLedgerTest, NorIfOthersHaveTakenTheNumbersOfLostRecords) {
  database->go_back_to(2);
  write_elsewhere("a", "9/d");
  expect_the_copy_in_force();
  write_elsewhere("a", "8/d");
  expect_the_copy_in_force();
}

TEST_F(LostLedgerTest, ItGoesOnByItselfWhenTheDatabaseIsRestored) {
  database->go_back_to(0);
  CopyingNode next(database, folder.path());
  ASSERT_FALSE(next.follower.load());
  ASSERT_TRUE(next.follower.restore());
  // Equal records have equal hashes.
  write_elsewhere("a", "10/d");
  ASSERT_FALSE(next.follower.refresh());
  write_elsewhere("b", "1/s");
  write_elsewhere("a", "2/d");
  write_elsewhere("c", "1/s");
  ASSERT_TRUE(next.follower.refresh());
  EXPECT_EQ(next.in_force(), "a#2 b#1 c#1");
  EXPECT_TRUE(next.put("d", policy_body("d", "1/s")));
}

TEST_F(LostLedgerTest, WhoRemovesTheCopyGoesOnWithTheDatabase) {
  database->go_back_to(1);
  expect_the_copy_in_force();
  std::filesystem::remove(path);
  EXPECT_EQ(loaded(folder.path()), "a#1");
  EXPECT_EQ(loaded(folder.path()), "a#1") << "that is known from now on";
}

TEST_F(LostLedgerTest, ADatabaseThatComesLateIsLookedAtInTheSameWay) {
  database->go_back_to(1);
  database->set_available(false);
  CopyingNode next(database, folder.path());
  ASSERT_FALSE(next.follower.load());
  ASSERT_TRUE(next.follower.restore());
  database->set_available(true);
  EXPECT_THAT(next.follower.refresh().error().message, HasSubstr("remove that file"));
  EXPECT_EQ(next.in_force(), "a#2 b#1");
}

TEST_F(LostLedgerTest, WhatWasRemovedAsOldIsNotLost) {
  constexpr std::int64_t kNow = 1'800'000'000'000'000;
  const ledger::Change event{
      .drafts = {{Kind::kEvent, "p", "reset", "{}"}}, .actor = "token ops", .at_us = 1};
  ControlNode other(database);
  ASSERT_TRUE(other.follower.load());
  ASSERT_TRUE(other.follower.write(event));
  ASSERT_EQ(loaded(folder.path()), "a#2 b#1");
  ASSERT_EQ(LedgerCopy(folder.path(), "ledger").read().value().revision, 4) << "the event is its newest";
  const std::string of_the_event = read_sealed_file(path, 1 << 20).value();
  ASSERT_EQ(other.follower.prune(kNow, kNow), 1);
  EXPECT_EQ(loaded(folder.path()), "a#2 b#1") << "the anchor has its hash";

  ASSERT_TRUE(other.follower.write(event));
  ASSERT_EQ(other.follower.prune(kNow, kNow), 1);
  ASSERT_TRUE(write_sealed_file(path, of_the_event));
  EXPECT_EQ(loaded(folder.path()), "a#2 b#1") << "the anchor is beyond it";
}

TEST_F(LostLedgerTest, AnotherDatabaseIsNoneThatWentBack) {
  database->go_back_to(1);
  EXPECT_EQ(loaded(folder.path(), "another"), "a#1");
}

TEST_F(LostLedgerTest, WithoutACopyTheDatabaseIsBelieved) {
  database->go_back_to(1);
  EXPECT_EQ(loaded(""), "a#1");
}

TEST_F(LostLedgerTest, ACopyThatCannotBeUsedKnowsNothingAndThatIsTold) {
  database->go_back_to(1);
  std::filesystem::resize_file(path, std::filesystem::file_size(path) - 1);
  CopyingNode next(database, folder.path());
  ASSERT_TRUE(next.follower.load());
  EXPECT_EQ(next.in_force(), "a#1");
  EXPECT_THAT(next.follower.problems(), ElementsAre(next.follower.copy_trouble()));
  EXPECT_THAT(next.follower.copy_trouble(),
              AllOf(HasSubstr(path), HasSubstr("cannot tell whether the database has lost policies")));
  ASSERT_TRUE(next.put("c", policy_body("c", "1/s")));
  EXPECT_FALSE(next.follower.copy_trouble().empty()) << "for as long as it runs";
  EXPECT_EQ(CopyingNode(database, folder.path()).copy.read().value().revision, 1) << "there is a new one";
}

TEST_F(LostLedgerTest, ACopyThatOthersCanWriteIsNotTrusted) {
  database->go_back_to(1);
  std::filesystem::permissions(path, std::filesystem::perms::group_write, std::filesystem::perm_options::add);
  CopyingNode next(database, folder.path());
  ASSERT_TRUE(next.follower.load());
  EXPECT_THAT(next.follower.copy_trouble(), HasSubstr(path));
}

TEST_F(LostLedgerTest, NorIsItTrustedWithoutTheDatabase) {
  database->set_available(false);
  std::filesystem::resize_file(path, std::filesystem::file_size(path) - 1);
  CopyingNode next(database, folder.path());
  ASSERT_FALSE(next.follower.load());
  EXPECT_FALSE(next.follower.restore());
  EXPECT_THAT(next.follower.problems(), ElementsAre(HasSubstr(path)));
}

TEST_F(LostLedgerTest, NoCopyIsNoTrouble) {
  std::filesystem::remove(path);
  CopyingNode next(database, folder.path());
  ASSERT_TRUE(next.follower.load());
  EXPECT_EQ(next.follower.copy_trouble(), "");
}

TEST_F(LostLedgerTest, ACopyWithoutAHashKnowsHowManyThereWere) {
  take_the_hash_from_the_copy();
  database->go_back_to(2);
  expect_the_copy_in_force();
  write_elsewhere("a", "9/d");
  EXPECT_EQ(loaded(folder.path()), "a#2 b#1") << "as many as there were: the database is believed";
  EXPECT_FALSE(LedgerCopy(folder.path(), "ledger").read().value().hash.empty());
}

TEST_F(LostLedgerTest, NoCopyIsMadeOfADatabaseThatWentBackWhileItRan) {
  CopyingNode node(database, folder.path());
  ASSERT_TRUE(node.follower.load());
  ASSERT_TRUE(node.put("c", policy_body("c", "1/s")));
  std::filesystem::remove(path);
  database->go_back_to(1);
  EXPECT_FALSE(node.follower.keep_copy(clock));
  EXPECT_FALSE(std::filesystem::exists(path));
}

}  // namespace
}  // namespace sluice::control

#include "control/ledger_copy.h"

#include <gtest/gtest.h>

#include <fstream>

#include "base/secret/sealed_file.h"
#include "control/control_plane.h"
#include "control/testing/copying_node.h"
#include "ledger/testing/temp_folder.h"

namespace sluice::control {
namespace {

using ledger::Kind;

std::string policy_body(const std::string& id, const std::string& rate) {
  return R"({"id":")" + id + R"(","tenant":"t","resource":"/)" + id + R"(","limits":[{"rate":")" + rate +
         R"("}]})";
}

class LedgerCopyTest : public ::testing::Test {
 protected:
  // The policies in force on a node that starts now, while the database is unreachable.
  std::string without_database() {
    CopyingNode next(std::make_shared<ledger::MemoryDatabase>(), folder.path());
    return next.follower.restore() ? next.in_force() : "nothing is known";
  }

  ledger::TempFolder folder;
  std::shared_ptr<ledger::MemoryDatabase> database = std::make_shared<ledger::MemoryDatabase>();
  CopyingNode node{database, folder.path()};
  ManualClock clock{1'000'000};
};

TEST_F(LedgerCopyTest, WithoutOneNothingIsKnown) { EXPECT_EQ(without_database(), "nothing is known"); }

TEST_F(LedgerCopyTest, AnEmptyLedgerLeavesNoFile) {
  ASSERT_TRUE(node.follower.load());
  ASSERT_TRUE(node.follower.keep_copy(clock));
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

TEST_F(LedgerCopyTest, HasWhatTheLedgerSaidLast) {
  ASSERT_TRUE(node.follower.load());
  ASSERT_TRUE(node.put("a", policy_body("a", "1/s")));
  ASSERT_TRUE(node.put("b", policy_body("b", "1/s")));
  ASSERT_TRUE(node.follower.keep_copy(clock));
  EXPECT_EQ(without_database(), "a#1 b#1");
  ASSERT_TRUE(node.put("a", policy_body("a", "2/s")));
  ASSERT_TRUE(node.put("b", ""));
  ASSERT_TRUE(node.put("c", policy_body("c", "1/s")));
  ASSERT_TRUE(node.follower.keep_copy(clock));
  EXPECT_EQ(without_database(), "a#2 c#1");
}

TEST_F(LedgerCopyTest, IsWrittenByEveryLoad) {
  ControlNode other(database);
  ASSERT_TRUE(other.follower.load());
  ASSERT_TRUE(other.put("a", policy_body("a", "1/s")));
  ASSERT_TRUE(node.follower.load());
  EXPECT_EQ(without_database(), "a#1");
}

TEST_F(LedgerCopyTest, TokensOutliveTheDatabase) {
  ASSERT_TRUE(node.follower.load());
  const std::string secret = make_token(token_entropy());
  const Token token{"ops", hash_token(secret), {Role::kAdmin}, {}, 0};
  ASSERT_TRUE(node.follower.write(
      {.drafts = {{Kind::kToken, "ops", "create", write_token(token), 0}}, .actor = "test", .at_us = 1}));
  ASSERT_TRUE(node.follower.keep_copy(clock));
  CopyingNode next(std::make_shared<ledger::MemoryDatabase>(), folder.path());
  ASSERT_TRUE(next.follower.restore());
  EXPECT_TRUE(next.tokens.published().current()->find(secret, 1));
  EXPECT_FALSE(next.tokens.published().current()->find(make_token(token_entropy()), 1));
}

TEST_F(LedgerCopyTest, ADamagedOneIsAProblemAndNoPolicies) {
  ASSERT_TRUE(node.follower.load());
  ASSERT_TRUE(node.put("a", policy_body("a", "1/s")));
  ASSERT_TRUE(node.follower.keep_copy(clock));
  std::filesystem::resize_file(node.copy.path(), std::filesystem::file_size(node.copy.path()) - 1);
  CopyingNode next(std::make_shared<ledger::MemoryDatabase>(), folder.path());
  EXPECT_FALSE(next.follower.restore());
  EXPECT_EQ(next.in_force(), "");
  ASSERT_EQ(next.follower.problems().size(), 1u);
  EXPECT_NE(next.follower.problems()[0].find("corrupt"), std::string::npos);

  ASSERT_TRUE(node.put("b", policy_body("b", "1/s")));
  ASSERT_TRUE(node.follower.keep_copy(clock)) << "it is made anew from the ledger";
  EXPECT_EQ(without_database(), "a#1 b#1");
}

TEST_F(LedgerCopyTest, WhatTheLedgerDoesNotKnowIsTakenBack) {
  // A copy of before hashes were kept: it cannot tell that the ledger is another one.
  const ledger::Record a{
      .revision = 1, .kind = Kind::kPolicy, .name = "a", .version = 1, .body = policy_body("a", "1/s")};
  ASSERT_TRUE(node.copy.replace(1, "", {&a, 1}));
  auto fresh = std::make_shared<ledger::MemoryDatabase>();
  ControlNode other(fresh);
  ASSERT_TRUE(other.follower.load());
  ASSERT_TRUE(other.put("b", policy_body("b", "1/s")));
  CopyingNode next(fresh, folder.path());
  ASSERT_TRUE(next.follower.restore());
  EXPECT_EQ(next.in_force(), "a#1");
  ASSERT_TRUE(next.follower.load());
  EXPECT_EQ(next.in_force(), "b#1");
  EXPECT_EQ(without_database(), "b#1");
}

TEST_F(LedgerCopyTest, NewsDoNotBecomeACopyIfTheRestCouldNotBeWritten) {
  ControlNode other(database);
  ASSERT_TRUE(other.follower.load());
  ASSERT_TRUE(other.put("a", policy_body("a", "1/s")));
  std::filesystem::create_directory(node.copy.path());  // in place of the file
  ASSERT_TRUE(node.follower.load());
  EXPECT_FALSE(node.follower.keep_copy(clock));
  std::filesystem::remove(node.copy.path());
  ASSERT_TRUE(node.put("b", policy_body("b", "1/s")));
  ASSERT_TRUE(node.follower.keep_copy(clock));
  EXPECT_EQ(without_database(), "a#1 b#1");
}

TEST_F(LedgerCopyTest, IsMadeAgainAlsoIfNothingIsNew) {
  ControlNode other(database);
  ASSERT_TRUE(other.follower.load());
  ASSERT_TRUE(other.put("a", policy_body("a", "1/s")));
  std::filesystem::create_directory(node.copy.path());
  ASSERT_TRUE(node.follower.load());
  std::filesystem::remove(node.copy.path());
  ASSERT_TRUE(node.follower.keep_copy(clock));
  EXPECT_EQ(without_database(), "a#1");
}

TEST_F(LedgerCopyTest, NewsDoNotGoIntoAnOlderOneOrIntoNothing) {
  ASSERT_TRUE(node.follower.load());
  ASSERT_TRUE(node.put("a", policy_body("a", "1/s")));
  ASSERT_TRUE(node.follower.keep_copy(clock));
  const std::string old = node.copy.path() + ".old";
  std::filesystem::copy_file(node.copy.path(), old);
  ASSERT_TRUE(node.put("b", policy_body("b", "1/s")));
  ASSERT_TRUE(node.follower.keep_copy(clock));
  std::filesystem::rename(old, node.copy.path());
  ASSERT_TRUE(node.put("c", policy_body("c", "1/s")));
  ASSERT_TRUE(node.follower.keep_copy(clock));
  EXPECT_EQ(without_database(), "a#1 b#1 c#1");
  std::filesystem::remove(node.copy.path());
  ASSERT_TRUE(node.put("d", policy_body("d", "1/s")));
  ASSERT_TRUE(node.follower.keep_copy(clock));
  EXPECT_EQ(without_database(), "a#1 b#1 c#1 d#1");
}

TEST_F(LedgerCopyTest, TwoNodesMayShareAFolder) {
  CopyingNode other(database, folder.path());
  ASSERT_TRUE(node.follower.load());
  ASSERT_TRUE(other.follower.load());
  ASSERT_TRUE(node.put("a", policy_body("a", "1/s")));
  ASSERT_TRUE(node.put("b", policy_body("b", "1/s")));
  ASSERT_TRUE(other.put("b", policy_body("b", "2/s")));
  ASSERT_TRUE(other.follower.keep_copy(clock));
  ASSERT_TRUE(node.follower.keep_copy(clock));  // its copy lacks the latest change
  EXPECT_EQ(without_database(), "a#1 b#2");
}

TEST_F(LedgerCopyTest, APartIsRefusedLoudly) {
  ASSERT_TRUE(node.follower.load());
  ASSERT_TRUE(node.put("a", policy_body("a", "1/s")));
  ASSERT_TRUE(node.follower.keep_copy(clock));
  const std::string bytes = read_sealed_file(node.copy.path(), 1 << 20).value();
  std::string part;
  FieldReader fields(bytes);
  for (int i = 0; i < 5; ++i) append_field(part, fields.next().value());  // all but the document
  ASSERT_TRUE(write_sealed_file(node.copy.path(), part));
  CopyingNode next(std::make_shared<ledger::MemoryDatabase>(), folder.path());
  EXPECT_FALSE(next.follower.restore());
  ASSERT_EQ(next.follower.problems().size(), 1u);
  EXPECT_NE(next.follower.problems()[0].find("it has 0 of 1 documents"), std::string::npos);
}

TEST_F(LedgerCopyTest, StandsInForWhatTheLedgerLacksAndForNothingElse) {
  ASSERT_TRUE(node.follower.load());
  ASSERT_TRUE(node.put("a", policy_body("a", "1/s")));
  ASSERT_TRUE(node.put("b", policy_body("b", "1/s")));
  ASSERT_TRUE(node.put("c", policy_body("c", "1/s")));
  ASSERT_TRUE(node.follower.keep_copy(clock));
  ControlNode other(database);
  ASSERT_TRUE(other.follower.load());
  ASSERT_TRUE(other.put("a", policy_body("a", "2/s")));
  ASSERT_TRUE(other.put("c", ""));
  CopyingNode next(database, folder.path());
  next.ledger.missing = "b";
  EXPECT_FALSE(next.follower.load());
  ASSERT_TRUE(next.follower.restore());
  EXPECT_EQ(next.in_force(), "a#2 b#1");
}

TEST_F(LedgerCopyTest, OfAnotherLedgerIsNotTaken) {
  ASSERT_TRUE(node.follower.load());
  ASSERT_TRUE(node.put("a", policy_body("a", "1/s")));
  ASSERT_TRUE(node.follower.keep_copy(clock));
  EXPECT_EQ(LedgerCopy(folder.path(), "another").read().error().code, ErrorCode::kNotFound);
}

}  // namespace
}  // namespace sluice::control

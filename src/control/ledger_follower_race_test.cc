// Nodes that write at the same time all reach the same result.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "control/testing/control_node.h"

namespace sluice::control {
namespace {

using ledger::Kind;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::string body_at(const std::string& id, const std::string& resource) {
  return R"({"id":")" + id + R"(","tenant":"t","resource":")" + resource + R"(","limits":[{"rate":"1/s"}]})";
}

struct Node : ControlNode {
  using ControlNode::ControlNode;
  Result<std::vector<ledger::Record>> put_at(const std::string& id, const std::string& resource,
                                             const std::string& key = "") {
    return put(id, body_at(id, resource), {}, key);
  }
  Result<std::vector<ledger::Record>> remove(const std::string& id) { return put(id, ""); }
};

class LedgerFollowerRaceTest : public ::testing::Test {
 protected:
  LedgerFollowerRaceTest() {
    EXPECT_TRUE(here.follower.load());
    EXPECT_TRUE(there.follower.load());
  }
  // As an older version would have written it, without validation.
  void append_blindly(const std::string& id, const std::string& body) {
    ASSERT_TRUE(there.ledger.append(
        {.drafts = {{Kind::kPolicy, id, "put", body, std::nullopt}}, .actor = "somebody", .at_us = 1}));
  }
  // On all nodes that follow, and on one that starts now.
  void expect_everywhere(const std::string& versions) {
    ASSERT_TRUE(here.follower.follow());
    ASSERT_TRUE(there.follower.follow());
    Node anew{database};
    ASSERT_TRUE(anew.follower.load());
    EXPECT_EQ(here.in_force(), versions);
    EXPECT_EQ(there.in_force(), versions);
    EXPECT_EQ(anew.in_force(), versions);
    EXPECT_EQ(anew.follower.problems(), here.follower.problems());
  }

  std::shared_ptr<ledger::MemoryDatabase> database = std::make_shared<ledger::MemoryDatabase>();
  Node here{database}, there{database};
};

TEST_F(LedgerFollowerRaceTest, OfTwoPoliciesForOnePlaceOneIsRefused) {
  here.ledger.meanwhile = [&] { ASSERT_TRUE(there.put_at("y", "/same")); };
  const auto refused = here.put_at("x", "/same");
  ASSERT_FALSE(refused) << "it was good when it was looked at, and is no more";
  EXPECT_EQ(refused.error().code, ErrorCode::kConflict);
  expect_everywhere("y#1");
  EXPECT_THAT(here.follower.problems(), IsEmpty());
}

TEST_F(LedgerFollowerRaceTest, WhatDoesNotConflictIsWrittenAllTheSame) {
  here.ledger.meanwhile = [&] { ASSERT_TRUE(there.put_at("y", "/y")); };
  const auto written = here.put_at("x", "/x");
  ASSERT_TRUE(written) << written.error().message;
  EXPECT_EQ(written->front().revision, 2);
  expect_everywhere("x#1 y#1");
}

TEST_F(LedgerFollowerRaceTest, WhoIsAlwaysTooLateGivesUp) {
  int others = 0;
  const std::function<void()> write_again = [&] {
    const std::string name = "y" + std::to_string(++others);
    ASSERT_TRUE(there.put_at(name, "/" + name));
    here.ledger.meanwhile = write_again;
  };
  here.ledger.meanwhile = write_again;
  const auto given_up = here.put_at("x", "/x");
  ASSERT_FALSE(given_up);
  EXPECT_EQ(given_up.error().code, ErrorCode::kUnavailable);
  EXPECT_THAT(given_up.error().message, HasSubstr("try again"));
  here.ledger.meanwhile = nullptr;
  EXPECT_TRUE(here.put_at("x", "/x"));
}

TEST_F(LedgerFollowerRaceTest, AKeyedChangeThatWasWrittenGetsItsAnswer) {
  const auto first = here.put_at("x", "/same", "key-1");
  ASSERT_TRUE(first);
  here.ledger.meanwhile = [&] { ASSERT_TRUE(there.put_at("z", "/z")); };
  EXPECT_EQ(here.put_at("x", "/same", "key-1").value(), *first) << "whatever was written since";
  ASSERT_TRUE(here.remove("x"));
  ASSERT_TRUE(there.put_at("y", "/same"));
  const auto again = here.put_at("x", "/same", "key-1");
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(*again, *first) << "although it could not be written now";
  EXPECT_FALSE(here.put_at("x", "/same", "key-2"));
  expect_everywhere("y#1 z#1");
}

TEST_F(LedgerFollowerRaceTest, EveryNodeChoosesTheSameOfTwoThatConflict) {
  append_blindly("y", body_at("y", "/same"));
  append_blindly("x", body_at("x", "/same"));
  expect_everywhere("x#1");
  append_blindly("x", body_at("x", "/same"));
  expect_everywhere("x#2");
  EXPECT_THAT(here.follower.problems(),
              ElementsAre(HasSubstr("policy \"y\" from the database is not in force")));
}

TEST_F(LedgerFollowerRaceTest, WhatWasLeftOutComesWhenItsPlaceIsFree) {
  append_blindly("x", body_at("x", "/same"));
  append_blindly("y", body_at("y", "/same"));
  expect_everywhere("x#1");
  ASSERT_TRUE(there.put_at("x", "/elsewhere"));
  expect_everywhere("x#2 y#1");
  EXPECT_THAT(here.follower.problems(), IsEmpty());
  append_blindly("z", body_at("z", "/same"));
  expect_everywhere("x#2 y#1");
  ASSERT_TRUE(here.remove("y"));
  expect_everywhere("x#2 z#1");
}

TEST_F(LedgerFollowerRaceTest, WhatWasLeftOutCanBeWithdrawn) {
  append_blindly("x", body_at("x", "/same"));
  append_blindly("y", body_at("y", "/same"));
  ASSERT_TRUE(here.remove("y"));
  EXPECT_THAT(here.follower.problems(), IsEmpty());
  expect_everywhere("x#1");
}

// Applied one by one, this would fail.
TEST_F(LedgerFollowerRaceTest, APlaceCanBeSwappedInOneChange) {
  ASSERT_TRUE(here.put_at("x", "/a"));
  ASSERT_TRUE(here.put_at("y", "/b"));
  ASSERT_TRUE(here.follower.write({.drafts = {{Kind::kPolicy, "x", "put", body_at("x", "/b"), std::nullopt},
                                              {Kind::kPolicy, "y", "put", body_at("y", "/a"), std::nullopt}},
                                   .actor = "test",
                                   .at_us = 1}));
  expect_everywhere("x#2 y#2");
}

TEST_F(LedgerFollowerRaceTest, ADatabaseThatWentBackInTimeIsNeitherFollowedNorWrittenTo) {
  ASSERT_TRUE(here.put_at("a", "/1"));
  ASSERT_TRUE(here.put_at("a", "/2"));
  ASSERT_TRUE(here.put_at("b", "/b"));
  database->go_back_to(1);
  const auto expect_lost = [&](const char* when) {
    EXPECT_THAT(here.follower.follow().error().message, HasSubstr("has lost policies that were there"))
        << when;
    const auto refused = here.put_at("c", "/c");
    ASSERT_FALSE(refused) << when;
    EXPECT_EQ(refused.error().code, ErrorCode::kUnavailable) << when;
    EXPECT_EQ(here.in_force(), "a#2 b#1") << "what is in force stays";
  };
  expect_lost("records are missing");
  Node anew{database};
  ASSERT_TRUE(anew.follower.load());
  for (const char* id : {"n0", "n1", "n2"}) ASSERT_TRUE(anew.put_at(id, std::string("/") + id));
  expect_lost("others have taken their numbers");
  Node restarted{database};
  ASSERT_TRUE(restarted.follower.load());
  EXPECT_EQ(restarted.in_force(), anew.in_force());
}

TEST_F(LedgerFollowerRaceTest, WhatAFileStoodInTheWayOfComesWhenItIsGone) {
  Policy of_file;
  of_file.id = "file";
  of_file.tenant = "t";
  of_file.resource = "/x";
  of_file.limits.push_back({.name = "l", .per = {}, .params = {}});
  ASSERT_TRUE(there.put_at("x", "/x"));
  ASSERT_TRUE(here.catalog.replace_files({of_file}));
  ASSERT_TRUE(here.follower.follow());
  EXPECT_EQ(here.follower.problems().size(), 1u);
  ASSERT_TRUE(here.put_at("y", "/y")) << "others are written meanwhile";
  EXPECT_EQ(here.follower.problems().size(), 1u);
  ASSERT_TRUE(here.catalog.replace_files({}));
  here.follower.try_again();
  EXPECT_THAT(here.follower.problems(), IsEmpty());
  EXPECT_EQ(here.in_force(), "x#1 y#1");
}

TEST_F(LedgerFollowerRaceTest, WhatWasInForceUntilAFileTookItsIdIsAProblemUntilTheFileIsGone) {
  Policy of_file;
  of_file.id = "x";
  of_file.version = 7;
  of_file.resource = "/of-the-file";
  of_file.limits.push_back({.name = "l", .per = {}, .params = {}});
  ASSERT_TRUE(here.put_at("x", "/x"));
  ASSERT_TRUE(here.put_at("y", "/y"));
  ASSERT_TRUE(here.catalog.replace_files({of_file}));
  EXPECT_EQ(here.in_force(), "x#7 y#1");
  here.follower.try_again();
  ASSERT_EQ(here.follower.problems().size(), 1u);
  EXPECT_EQ(here.follower.problems()[0],
            "policy \"x\" from the database is not in force: a policy file has a policy with this id");
  ASSERT_NE(here.follower.not_in_force(ledger::Kind::kPolicy, "x"), nullptr);
  EXPECT_EQ(here.follower.not_in_force(ledger::Kind::kPolicy, "x")->version, 1);
  here.follower.try_again();
  EXPECT_EQ(here.follower.problems().size(), 1u) << "it stays one";
  ASSERT_TRUE(here.catalog.replace_files({}));
  here.follower.try_again();
  EXPECT_THAT(here.follower.problems(), IsEmpty());
  EXPECT_EQ(here.in_force(), "x#1 y#1");
}

TEST_F(LedgerFollowerRaceTest, ADatabaseThatDoesNotAnswerIsAskedOnceHoweverManyPoliciesFilesHaveDisplaced) {
  std::vector<Policy> of_files;
  for (const char* id : {"x", "y", "z"}) {
    ASSERT_TRUE(here.put_at(id, std::string("/") + id));
    of_files.emplace_back().id = id;
    of_files.back().resource = std::string("/of-the-file/") + id;
    of_files.back().limits.push_back({.name = "l", .per = {}, .params = {}});
  }
  ASSERT_TRUE(here.catalog.replace_files(of_files));
  database->set_available(false);
  here.ledger.histories = 0;
  here.follower.try_again();
  EXPECT_EQ(here.ledger.histories, 1);
  EXPECT_EQ(here.follower.problems().size(), 3u) << "which are told nevertheless";
  EXPECT_EQ(here.follower.not_in_force(Kind::kPolicy, "y"), nullptr);

  database->set_available(true);
  here.follower.try_again();
  EXPECT_EQ(here.ledger.histories, 4);
  for (const char* id : {"x", "y", "z"})
    EXPECT_NE(here.follower.not_in_force(Kind::kPolicy, id), nullptr) << id;
}

}  // namespace
}  // namespace sluice::control

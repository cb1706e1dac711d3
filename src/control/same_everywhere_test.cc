// Nodes that have the same ledger and the same files have the same policies in force, however they came to
// it.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <random>

#include "base/testing/seed.h"
#include "control/testing/control_node.h"
#include "policy/document/policy_document.h"

namespace sluice::control {
namespace {

using ledger::Kind;

class SameEverywhereTest : public ::testing::Test {
 protected:
  struct Node : ControlNode {
    using ControlNode::ControlNode;
    void take(const std::vector<Policy>& files) {
      ASSERT_TRUE(catalog.replace_files(files));
      follower.try_again();
    }
  };

  std::size_t below(std::size_t end) { return random_() % end; }

  // Few ids, tenants and resources, and many limits: most of them are in each other's way.
  std::string random_body(const std::string& id) {
    std::string body = R"({"id":")" + id + '"';
    if (below(4) != 0) body += R"(,"tenant":")" + std::string(1, "tu"[below(2)]) + '"';
    body += R"(,"resource":"/)" + std::to_string(below(4)) + (below(2) == 0 ? "/*" : "") + '"';
    if (below(2) == 0) body += R"(,"always":true)";
    body += R"(,"limits":[)";
    for (std::size_t i = 0, count = 1 + below(12); i < count; ++i)
      body += std::string(i == 0 ? "" : ",") + R"({"name":"l)" + std::to_string(i) + R"(","rate":"1/s"})";
    return body + "]}";
  }
  std::string random_id() { return std::string(1, "abcdefghijkl"[below(12)]); }

  std::vector<Policy> random_files() {
    std::vector<Policy> files;
    for (std::size_t count = below(4); files.size() < count;) {
      const std::string id = below(3) == 0 ? random_id() : "file-" + std::to_string(below(9));
      if (std::ranges::find(files, id, &Policy::id) != files.end()) continue;
      Problems problems;
      files.push_back(parse_policy(random_body(id), id, problems).value());
    }
    Node alone{std::make_shared<ledger::MemoryDatabase>()};
    return alone.catalog.replace_files(files) ? files : std::vector<Policy>();
  }

  // Through the API, if that accepts it, or as somebody with a database client might.
  void write_something() {
    const std::string id = random_id();
    const std::string body = below(4) == 0 ? "" : random_body(id);
    if (below(2) == 0)
      static_cast<void>(step_by_step_.put(id, body));
    else
      static_cast<void>(other_writer_.append(
          {.drafts = {{Kind::kPolicy, id, "put", body, std::nullopt}}, .actor = "somebody", .at_us = 1}));
  }

  void expect_same(const char* what, const Node& node) {
    EXPECT_EQ(node.in_force(), step_by_step_.in_force()) << what;
    EXPECT_EQ(node.follower.problems().size(), step_by_step_.follower.problems().size()) << what;
  }

  const std::uint64_t seed_ = test_seed();
  std::mt19937_64 random_{seed_};
  std::shared_ptr<ledger::MemoryDatabase> database_ = std::make_shared<ledger::MemoryDatabase>();
  ledger::MemoryLedger other_writer_{database_};
  Node step_by_step_{database_}, in_batches_{database_};
};

TEST_F(SameEverywhereTest, WhateverTheOrderAndThePortionsInWhichItArrived) {
  SCOPED_TRACE("SLUICE_SEED=" + std::to_string(seed_));
  ASSERT_TRUE(step_by_step_.follower.load());
  ASSERT_TRUE(in_batches_.follower.load());
  std::vector<Policy> files;
  for (int round = 0; round < 150; ++round) {
    for (std::size_t left = below(8); left > 0; --left) {
      write_something();
      ASSERT_TRUE(step_by_step_.follower.follow());
      if (below(3) == 0) ASSERT_NO_FATAL_FAILURE(in_batches_.take(random_files()));
      if (below(4) == 0) ASSERT_TRUE(in_batches_.follower.follow());
    }
    if (below(2) == 0) files = random_files();
    ASSERT_NO_FATAL_FAILURE(step_by_step_.take(files));
    const bool follows_first = below(2) == 0;
    if (follows_first) ASSERT_TRUE(in_batches_.follower.follow());
    ASSERT_NO_FATAL_FAILURE(in_batches_.take(files));
    if (!follows_first) ASSERT_TRUE(in_batches_.follower.follow());
    expect_same("in batches, with other files in between", in_batches_);

    Node anew{database_};
    ASSERT_NO_FATAL_FAILURE(anew.take(files));
    ASSERT_TRUE(anew.follower.load());
    expect_same("a node that starts now", anew);
    if (HasFailure()) FAIL() << "in round " << round;
  }
}

// A policy that is changed keeps its place: what the API has accepted is in force.
TEST_F(SameEverywhereTest, AnAcceptedChangeIsNotDisplacedByWhatWasLeftOut) {
  const auto body = [](const std::string& id, const std::string& rate) {
    return R"({"id":")" + id + R"(","tenant":"t","resource":"/)" + id +
           R"(/*","always":true,"limits":[{"name":"a","rate":")" + rate + R"("},{"name":"b","rate":"1/s"}]})";
  };
  ASSERT_TRUE(step_by_step_.follower.load());
  ASSERT_TRUE(step_by_step_.put("a", body("a", "1/s")));
  ASSERT_TRUE(step_by_step_.put("b", body("b", "1/s")));
  // They leave room for two limits.
  std::vector<Policy> files;
  for (const char* id : {"file-1", "file-2"}) {
    Policy& policy = files.emplace_back();
    policy.id = id;
    policy.tenant = "t";
    policy.resource = std::string("/") + id + "/*";
    policy.always = true;
    for (int i = 0; i < 15; ++i)
      policy.limits.push_back({.name = "l" + std::to_string(i),
                               .per = {},
                               .params = make_limit_params(Algorithm::kGcra, {1, 1'000'000}, {}).value()});
  }
  ASSERT_NO_FATAL_FAILURE(step_by_step_.take(files));
  EXPECT_EQ(step_by_step_.in_force(), "a#1 file-1#1 file-2#1");
  ASSERT_TRUE(step_by_step_.put("a", body("a", "2/s")));
  EXPECT_EQ(step_by_step_.in_force(), "a#2 file-1#1 file-2#1");
}

}  // namespace
}  // namespace sluice::control

// Rollouts on an in-memory ledger: two nodes, a clock that the test moves, and simulated decisions.
#include "control/rollout/rollout_controller.h"
#include "base/time_units.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "control/policy_registry.h"
#include "ledger/testing/memory_ledger.h"
#include "policy/document/policy_document.h"

namespace sluice::control {
namespace {

using ledger::Kind;
using ::testing::HasSubstr;

std::string policy_body(const std::string& rate) {
  return R"({"id":"p","limits":[{"per":["key"],"rate":")" + rate + R"("}]})";
}

// The control plane of one node.
struct RolloutNode {
  RolloutNode(const std::shared_ptr<ledger::MemoryDatabase>& database, const Clock& clock,
              const std::string& file = "", std::int64_t per_tenant = kPoliciesPerTenant)
      : ledger(database),
        policies(catalog, {.per_tenant = per_tenant}),
        controller({rollouts, catalog, totals, clock, [this](LogEvent event, std::string_view text) {
                      (is_problem(event) ? problems : steps).emplace_back(text);
                    }}) {
    Problems problems_of_file;
    if (!file.empty())
      EXPECT_TRUE(catalog.replace_files({parse_policy(file, "file", problems_of_file).value()}));
    follower.add(Kind::kPolicy, policies);
    follower.add(Kind::kRollout, rollouts);
    EXPECT_TRUE(follower.load());
  }
  Result<std::vector<ledger::Record>> write(std::vector<ledger::Draft> drafts) {
    return follower.write(
        {.drafts = std::move(drafts), .actor = "test", .reason = "", .at_us = 1, .request_id = ""});
  }
  void tick() {
    static_cast<void>(follower.follow());
    controller.look_after(follower);
  }
  // Simulates decisions of the version in force and of the candidate.
  void decide(const Tally& live, const Tally& candidate) {
    const auto snapshot = snapshots.current();
    counters.rebind(snapshot->policy_indexes());
    const CompiledPolicy& policy = *snapshot->find("p");
    counters.add(policy, DecisionCounters::kAllowed, live.allowed);
    counters.add(policy, DecisionCounters::kDenied, live.denied);
    counters.add(policy.candidate->policy(), DecisionCounters::kAllowed, candidate.allowed);
    counters.add(policy.candidate->policy(), DecisionCounters::kDenied, candidate.denied);
  }
  // "p#1 10%": the policy in force, and the share of its candidate.
  std::string in_force() const {
    const auto snapshot = snapshots.current();
    const CompiledPolicy* const policy = snapshot->find("p");
    if (!policy) return "";
    if (!policy->candidate) return policy->version_text();
    return policy->version_text() + ' ' + std::to_string(policy->candidate->percent()) + '%';
  }
  RolloutState state() const { return rollouts.find("p")->rollout.state; }

  ledger::MemoryLedger ledger;
  ParamsTable params;
  SnapshotPublisher snapshots;
  PolicyCatalog catalog{snapshots, params};
  PolicyRegistry policies;
  RolloutRegistry rollouts{catalog};
  LedgerFollower follower{ledger};
  DecisionTotals totals;
  DecisionCounters counters{totals};
  std::vector<std::string> steps, problems;
  RolloutController controller;
};

class RolloutControllerTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(here.write({{Kind::kPolicy, "p", "put", policy_body("100/s"), {}}}));
    ASSERT_TRUE(start(here));
  }
  Result<std::vector<ledger::Record>> start(RolloutNode& node, const std::string& rate = "50/s") {
    const RolloutRegistry::Known* const before = node.rollouts.find("p");
    StagedRollout rollout;
    Problems problems;
    rollout.candidate = parse_policy(policy_body(rate), "p", problems).value();
    rollout.candidate.version = node.snapshots.current()->find("p")->source.version;
    rollout.stages = {{10, 10 * kSecondUs}, {100, 10 * kSecondUs}};
    rollout.started_us = rollout.since_us = clock.now_us();
    return node.write(rollout_drafts(rollout, before ? before->version : 0, "start"));
  }
  void tick_all() {
    here.tick();
    there.tick();
    here.tick();
  }

  ManualClock clock{1'800'000'000 * kSecondUs};
  std::shared_ptr<ledger::MemoryDatabase> database = std::make_shared<ledger::MemoryDatabase>();
  RolloutNode here{database, clock}, there{database, clock};
};

TEST_F(RolloutControllerTest, GoesThroughItsStagesOnAllNodes) {
  tick_all();
  EXPECT_EQ(here.in_force(), "p#1 10%");
  EXPECT_EQ(there.in_force(), "p#1 10%");
  clock.advance(10 * kSecondUs - 1);
  tick_all();
  EXPECT_EQ(here.in_force(), "p#1 10%");
  clock.advance(1);
  tick_all();
  EXPECT_EQ(here.in_force(), "p#1 100%");
  EXPECT_EQ(there.in_force(), "p#1 100%");
  EXPECT_THAT(here.controller.metrics(), HasSubstr("rate_limiter_rollout_stage{policy=\"p\"} 2\n"));
  EXPECT_THAT(here.controller.metrics(), HasSubstr("rate_limiter_rollout_percent{policy=\"p\"} 100\n"));
  clock.advance(10 * kSecondUs);
  tick_all();
  EXPECT_EQ(here.in_force(), "p#2");
  EXPECT_EQ(there.in_force(), "p#2");
  EXPECT_EQ(there.state(), RolloutState::kFinished);
  EXPECT_EQ(here.snapshots.current()->find("p")->source.limits[0].params.rate.count, 50);
  EXPECT_THAT(here.controller.metrics(), Not(HasSubstr("policy=\"p\"")));
  EXPECT_EQ(here.rollouts.find("p")->version, 3) << "one step each, whoever made it";
  EXPECT_TRUE(here.problems.empty() && there.problems.empty());
}

TEST_F(RolloutControllerTest, ABadCandidateIsTakenBackByWhoeverSeesIt) {
  tick_all();
  there.decide({2000, 0}, {100, 1000});
  tick_all();
  EXPECT_EQ(here.in_force(), "p#1");
  EXPECT_EQ(there.in_force(), "p#1");
  EXPECT_EQ(here.state(), RolloutState::kRolledBack);
  EXPECT_THAT(
      here.rollouts.find("p")->rollout.note,
      HasSubstr("the candidate denied 1000 of 1100 checks (90.91 %), the version in force 0 of 2000"));
  EXPECT_THAT(there.controller.metrics(),
              HasSubstr("rate_limiter_rollout_rollbacks_total{policy=\"p\"} 1\n"));
  EXPECT_THAT(here.controller.metrics(), Not(HasSubstr("rollbacks_total{")));
  const auto records = here.ledger.history(Kind::kRollout, "p", INT64_MAX, 10).value();
  EXPECT_EQ(records[0].action, "roll back");
  EXPECT_EQ(records[0].actor, "sluice");
  EXPECT_EQ(records[0].reason, here.rollouts.find("p")->rollout.note);
  clock.advance(100 * kSecondUs);
  tick_all();
  EXPECT_EQ(here.in_force(), "p#1") << "and it stays so";
}

TEST_F(RolloutControllerTest, TheNextRolloutIsNotBlamedForTheLast) {
  tick_all();
  here.decide({2000, 0}, {0, 2000});
  tick_all();
  ASSERT_TRUE(start(here));
  tick_all();
  EXPECT_EQ(here.in_force(), "p#1 10%");
  here.decide({2000, 0}, {2000, 0});
  tick_all();
  EXPECT_EQ(here.in_force(), "p#1 10%");
  EXPECT_EQ(here.controller.evaluator_of("p")->tallies().candidate, (Tally{2000, 0}));
}

TEST_F(RolloutControllerTest, WithoutTheDatabaseNothingMovesAndThenItGoesOn) {
  tick_all();
  database->set_available(false);
  clock.advance(15 * kSecondUs);
  here.decide({2000, 0}, {0, 2000});
  tick_all();
  EXPECT_EQ(here.in_force(), "p#1 10%");
  EXPECT_EQ(there.in_force(), "p#1 10%");
  EXPECT_EQ(here.problems.size(), 1u);
  database->set_available(true);
  tick_all();
  EXPECT_EQ(here.problems.size(), 1u) << "it is not asked every second";
  clock.advance(5 * kSecondUs);
  tick_all();
  EXPECT_EQ(here.in_force(), "p#1");
  EXPECT_EQ(there.in_force(), "p#1");
}

TEST_F(RolloutControllerTest, ANodeThatStartsInTheMiddleTakesTheStage) {
  clock.advance(10 * kSecondUs);
  tick_all();
  RolloutNode late{database, clock};
  EXPECT_EQ(late.in_force(), "p#1 100%");
  clock.advance(10 * kSecondUs);
  late.tick();
  EXPECT_EQ(late.in_force(), "p#2");
}

TEST_F(RolloutControllerTest, APolicyUnderWayIsNotChangedByOthers) {
  EXPECT_EQ(here.write({{Kind::kPolicy, "p", "put", policy_body("70/s"), {}}}).error().code,
            ErrorCode::kConflict);
  EXPECT_EQ(there.write({{Kind::kPolicy, "p", "delete", "", {}}}).error().code, ErrorCode::kConflict)
      << "though it had not yet seen the rollout";
  EXPECT_EQ(here.in_force(), "p#1 10%");
}

TEST_F(RolloutControllerTest, APolicyThatChangedAllTheSameEndsIt) {
  // As two nodes may write at the same time.
  ASSERT_TRUE(here.ledger.append({.drafts = {{Kind::kPolicy, "p", "put", policy_body("70/s"), {}}},
                                  .actor = "somebody",
                                  .reason = "",
                                  .at_us = 1,
                                  .request_id = ""}));
  tick_all();
  EXPECT_EQ(here.in_force(), "p#2");
  EXPECT_EQ(here.state(), RolloutState::kAborted);
  EXPECT_EQ(here.rollouts.find("p")->rollout.note, "the policy has changed since it began");
  EXPECT_TRUE(here.follower.problems().empty());
}

TEST_F(RolloutControllerTest, APolicyFileOfOneNodeDoesNotEndItForTheOthers) {
  RolloutNode odd{database, clock, policy_body("7/s")};
  odd.tick();
  tick_all();
  odd.tick();
  EXPECT_EQ(here.state(), RolloutState::kRunning);
  EXPECT_EQ(here.in_force(), "p#1 10%");
  EXPECT_EQ(odd.snapshots.current()->find("p")->source.limits[0].params.rate.count, 7) << "the file's";
  EXPECT_THAT(
      odd.follower.problems(),
      testing::Contains(HasSubstr("the rollout of policy \"p\" is not in force: policy \"p\" comes from")));
  EXPECT_THAT(odd.controller.metrics(), HasSubstr("rate_limiter_rollout_blocked{policy=\"p\"} 1\n"));
  EXPECT_THAT(here.controller.metrics(), Not(HasSubstr("rollout_blocked{")));
  for (int stage = 0; stage < 2; ++stage) {
    clock.advance(10 * kSecondUs);
    odd.tick();
    tick_all();
    odd.tick();
  }
  EXPECT_EQ(here.in_force(), "p#2");
  EXPECT_EQ(there.state(), RolloutState::kFinished);
  EXPECT_THAT(odd.controller.metrics(), Not(HasSubstr("rollout_blocked{")));
}

TEST_F(RolloutControllerTest, TheCandidateComesBackWhenAPolicyFileInFrontOfItGoes) {
  Problems problems;
  ASSERT_TRUE(here.catalog.replace_files({parse_policy(policy_body("7/s"), "file", problems).value()}));
  here.tick();
  EXPECT_THAT(here.controller.metrics(), HasSubstr("rate_limiter_rollout_blocked{policy=\"p\"} 1\n"));
  ASSERT_TRUE(here.catalog.replace_files({}));
  here.tick();
  EXPECT_EQ(here.in_force(), "p#1 10%");
  EXPECT_THAT(here.controller.metrics(), Not(HasSubstr("rollout_blocked{")));
  clock.advance(10 * kSecondUs);
  here.tick();
  EXPECT_EQ(here.in_force(), "p#1 100%") << "it goes on";
}

TEST_F(RolloutControllerTest, AStepThatOneNodeCannotTakeIsLeftToTheOthers) {
  RolloutNode strict{database, clock, "", 0};  // its settings allow no policies per tenant
  const std::string of_a_tenant = R"({"id":"q","tenant":"t","limits":[{"rate":"9/s"}]})";
  ASSERT_TRUE(here.write({{Kind::kPolicy, "q", "put", of_a_tenant, {}}}));
  StagedRollout rollout;
  Problems problems;
  rollout.candidate = parse_policy(of_a_tenant, "q", problems).value();
  rollout.candidate.version = 1;
  rollout.stages = {{100, 10 * kSecondUs}};
  rollout.started_us = rollout.since_us = clock.now_us();
  ASSERT_TRUE(here.write(rollout_drafts(rollout, 0, "start")));
  strict.tick();
  clock.advance(10 * kSecondUs);
  strict.tick();
  strict.tick();
  EXPECT_TRUE(strict.rollouts.find("q")->rollout.is_running());
  EXPECT_THAT(strict.controller.problems(),
              testing::ElementsAre(HasSubstr("this node cannot advance the rollout")));
  EXPECT_THAT(strict.controller.metrics(), HasSubstr("rate_limiter_rollout_blocked{policy=\"q\"} 1\n"));
  EXPECT_EQ(strict.problems.size(), 1u);
  tick_all();
  EXPECT_EQ(here.rollouts.find("q")->rollout.state, RolloutState::kFinished);
  strict.tick();
  EXPECT_TRUE(strict.controller.problems().empty());
}

TEST_F(RolloutControllerTest, ARecordThatCannotBeReadIsAProblemAndNothingElse) {
  ASSERT_TRUE(here.ledger.append({.drafts = {{Kind::kRollout, "odd", "start", R"({"state":"flying"})", {}}},
                                  .actor = "somebody",
                                  .reason = "",
                                  .at_us = 1,
                                  .request_id = ""}));
  tick_all();
  EXPECT_EQ(here.follower.problems().size(), 1u);
  EXPECT_EQ(here.in_force(), "p#1 10%");
}

}  // namespace
}  // namespace sluice::control

// Checks before the policies are known: --before-policies decides, and the answer says so.
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "engine/testing/engine_fixture.h"

namespace sluice::testing {
namespace {

class UnknownPolicies : public EngineFixture {
 protected:
  JointDecision together(std::vector<CheckRequest> requests) {
    auto decision = engine.check_together(requests, []() -> Engine::LaterTogether { return {}; });
    EXPECT_TRUE(decision && *decision);
    return **decision;
  }
};

TEST_F(UnknownPolicies, AreToldFromPoliciesThatDoNotExist) {
  const CheckRequest request{.key = "u"};
  EXPECT_EQ(check(request).reason, Reason::kNoPolicy);
  snapshots.say_unmatched(Unmatched::kUnknownOpen);
  const Decision open = check(request);
  EXPECT_TRUE(open.allowed && open.degraded);
  EXPECT_EQ(to_string(open.reason), "policies_unavailable");
  snapshots.say_unmatched(Unmatched::kUnknownClosed);
  const Decision closed = check(request);
  EXPECT_TRUE(!closed.allowed && closed.degraded);
  EXPECT_EQ(to_string(closed.reason), "policies_unavailable");
  snapshots.say_unmatched(Unmatched::kNoPolicy);
  EXPECT_EQ(check(request).reason, Reason::kNoPolicy);
  const auto sum = totals.sum();
  EXPECT_EQ(sum.no_policy, 2u);
  EXPECT_EQ(sum.unknown_allowed, 1u);
  EXPECT_EQ(sum.unknown_denied, 1u);
}

TEST_F(UnknownPolicies, MayBeNamed) {
  const CheckRequest request{.policy_id = "elsewhere", .key = "u"};
  snapshots.say_unmatched(Unmatched::kUnknownClosed);
  EXPECT_EQ(check(request).reason, Reason::kPoliciesUnknown);
  snapshots.say_unmatched(Unmatched::kNoPolicy);
  EXPECT_EQ(engine.check(request).error().code, ErrorCode::kPolicyNotFound) << "nothing is remembered";
}

TEST_F(UnknownPolicies, WhatIsKnownIsEnforced) {
  publish({make_policy("p", {make_limit({.rate = {1, kSecondUs}})})});
  snapshots.say_unmatched(Unmatched::kUnknownOpen);
  EXPECT_TRUE(check({.key = "u"}).allowed);
  const Decision second = check({.key = "u"});
  EXPECT_FALSE(second.allowed);
  EXPECT_EQ(second.reason, Reason::kLimited);
}

TEST_F(UnknownPolicies, TakePartInJointChecks) {
  publish({make_policy("p", {make_limit({.rate = {1, kSecondUs}})})});
  const std::vector<CheckRequest> both = {{.policy_id = "p", .key = "u"}, {.policy_id = "q", .key = "u"}};
  snapshots.say_unmatched(Unmatched::kUnknownClosed);
  const JointDecision closed = together(both);
  EXPECT_FALSE(closed.overall.allowed);
  EXPECT_EQ(closed.overall.reason, Reason::kPoliciesUnknown);
  snapshots.say_unmatched(Unmatched::kUnknownOpen);
  const JointDecision open = together(both);
  EXPECT_TRUE(open.overall.allowed) << "the denial has charged nothing";
  EXPECT_EQ(open.parts[0].reason, Reason::kOk);
  EXPECT_EQ(open.parts[1].reason, Reason::kPoliciesUnknown);
  EXPECT_TRUE(open.parts[1].degraded);
}

// The first policies arrive, and then the word that these are all. Between the two no check may take a
// request that they limit for one without a policy.
TEST(ConcurrentPolicies, AreInForceBeforeTheyAreSaidToBeComplete) {
  ManualClock clock(kNowUs);
  ParamsTable params;
  MemoryCounters counters(clock, params, {});
  MemoryStore store(counters, clock);
  const KeyHasher hasher = KeyHasher::from_text("test");
  DecisionTotals totals;
  const auto policies = Snapshot::compile({make_policy("p", {make_limit({})})}, params).value();
  for (int round = 0; round < 50; ++round) {
    SnapshotPublisher snapshots;
    snapshots.say_unmatched(Unmatched::kUnknownClosed);
    std::atomic<int> ready = 0;
    const auto ask = [&] {
      Engine engine({store, snapshots, hasher, clock, totals});
      ++ready;
      Reason reason = Reason::kPoliciesUnknown;
      while (reason == Reason::kPoliciesUnknown) reason = engine.check({.key = "u", .cost = 0})->reason;
      EXPECT_EQ(reason, Reason::kOk);
    };
    std::jthread one(ask), two(ask);
    while (ready < 2) std::this_thread::yield();
    snapshots.publish(policies);
    snapshots.say_unmatched(Unmatched::kNoPolicy);
  }
}

}  // namespace
}  // namespace sluice::testing

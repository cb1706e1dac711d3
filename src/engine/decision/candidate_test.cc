// A policy and its candidate in the engine: which decides for which key, and what is compared.
#include <set>
#include <string>

#include "engine/testing/engine_fixture.h"
#include "engine/testing/late_store.h"
#include "policy/snapshot/catalog.h"

namespace sluice::testing {
namespace {

class CandidateTest : public EngineFixture {
 protected:
  static Policy policy_with(std::int64_t rate) {
    Policy policy = make_policy("p", {make_limit({.rate = {rate, 3600 * kSecondUs}})});
    policy.version = 7;
    return policy;
  }
  void roll_out(std::int64_t rate, int percent, bool compare = false) {
    roll_out(policy_with(rate), percent, compare);
  }
  void roll_out(const Policy& policy, int percent, bool compare = false) {
    const auto done = catalog.put_candidate({policy, percent, compare, 1});
    ASSERT_TRUE(done) << done.error().message;
  }
  Decision ask(const std::string& key, std::int64_t cost = 1) { return check({.key = key, .cost = cost}); }
  bool gets_candidate(const std::string& key) {
    return ask(key, 0).policy->version_text() == "p#7+candidate";
  }
  DecisionTotals::PolicySum sum() { return totals.sum_of(*snapshots.current()->find("p")); }

  PolicyCatalog catalog{snapshots, params};
};

TEST_F(CandidateTest, TheShareOfKeysGrowsAndNobodyFallsOut) {
  ASSERT_TRUE(catalog.change({.put = {policy_with(100)}}));
  std::vector<bool> in_before(2000, false);
  for (const int percent : {0, 1, 10, 50, 100}) {
    roll_out(50, percent);
    int in = 0;
    for (std::size_t i = 0; i < in_before.size(); ++i) {
      const bool now = gets_candidate("user" + std::to_string(i));
      EXPECT_TRUE(now || !in_before[i]) << "key " << i << " fell out at " << percent << " %";
      in_before[i] = now;
      in += now;
    }
    EXPECT_NEAR(in, 20 * percent, percent == 0 || percent == 100 ? 0 : 80) << percent;
  }
}

TEST_F(CandidateTest, TheChoiceIsTheSameInEveryProcess) {
  ASSERT_TRUE(catalog.change({.put = {policy_with(100)}}));
  roll_out(50, 10);
  std::set<std::string> chosen;
  for (int i = 0; i < 40; ++i)
    if (gets_candidate("user" + std::to_string(i))) chosen.insert("user" + std::to_string(i));
  // Pinned: if the hash changed, keys would flip when a server is upgraded.
  EXPECT_EQ(chosen, (std::set<std::string>{"user0", "user9", "user11", "user12"}));
}

TEST_F(CandidateTest, APartOfThePolicysOwnShareIsTaken) {
  Policy partial = policy_with(100);
  partial.rollout.percent = 10;
  ASSERT_TRUE(catalog.change({.put = {partial}}));
  Policy candidate = partial;
  candidate.limits = policy_with(50).limits;
  roll_out(candidate, 50);
  int live = 0, on_the_way = 0;
  for (int i = 0; i < 2000; ++i) {
    const Decision decision = ask("user" + std::to_string(i), 0);
    if (!decision.policy) continue;
    ++(decision.policy->is_candidate ? on_the_way : live);
  }
  EXPECT_NEAR(live + on_the_way, 200, 60);
  EXPECT_NEAR(on_the_way, (live + on_the_way) / 2, 40) << "and not all or none of them";
}

TEST_F(CandidateTest, ARequestWithoutTheKeyWaitsForEverybody) {
  Policy open = policy_with(100);
  open.limits.push_back(make_limit({.name = "all", .per = {}, .rate = {1000, kSecondUs}}));
  ASSERT_TRUE(catalog.change({.put = {open}}));
  Policy candidate = open;
  candidate.limits[1] = make_limit({.name = "all", .per = {}, .rate = {500, kSecondUs}});
  roll_out(candidate, 99);
  EXPECT_EQ(check({}).policy->version_text(), "p#7");
  roll_out(candidate, 100);
  EXPECT_EQ(check({}).policy->version_text(), "p#7+candidate");
}

TEST_F(CandidateTest, WhatWasUsedStaysUsedOnTheWayThereAndBack) {
  ASSERT_TRUE(catalog.change({.put = {policy_with(100)}}));
  EXPECT_EQ(ask("u", 40).remaining(), 60);
  roll_out(50, 100);
  Decision decision = ask("u", 5);
  EXPECT_EQ(decision.limit(), 50);
  EXPECT_EQ(decision.remaining(), 5) << "45 of 50, charged once";
  EXPECT_EQ(decision.policy->source.version, 7);
  ASSERT_TRUE(catalog.remove_candidate("p"));
  decision = ask("u", 1);
  EXPECT_EQ(decision.limit(), 100);
  EXPECT_EQ(decision.remaining(), 54);
}

TEST_F(CandidateTest, DecisionsAreCountedForTheVersionThatMadeThem) {
  ASSERT_TRUE(catalog.change({.put = {policy_with(1000)}}));
  roll_out(0, 50);
  std::uint64_t denied = 0;
  for (int i = 0; i < 200; ++i) denied += !ask("user" + std::to_string(i)).allowed;
  const auto counted = sum();
  EXPECT_GT(denied, 50u);
  EXPECT_EQ(counted.candidate[DecisionCounters::kDenied], denied);
  EXPECT_EQ(counted.candidate[DecisionCounters::kAllowed], 0u);
  EXPECT_EQ(counted.fields[DecisionCounters::kDenied], denied) << "the policy's own sums have everything";
  EXPECT_EQ(counted.fields[DecisionCounters::kAllowed], 200 - denied);
  EXPECT_EQ(totals.sum().by_policy.at("p").fields[DecisionCounters::kAllowed], 200 - denied);
}

TEST_F(CandidateTest, AComparisonCountsDifferencesAndChangesNothing) {
  ASSERT_TRUE(catalog.change({.put = {policy_with(10)}}));
  roll_out(4, 0, true);
  for (int i = 0; i < 12; ++i) {
    const Decision decision = ask("u");
    EXPECT_EQ(decision.allowed, i < 10);
    EXPECT_EQ(decision.reason, i < 10 ? Reason::kOk : Reason::kLimited);
    EXPECT_EQ(decision.policy->version_text(), "p#7");
  }
  auto counted = sum();
  EXPECT_EQ(counted.candidate[DecisionCounters::kCompared], 12u);
  EXPECT_EQ(counted.candidate[DecisionCounters::kNewlyDenied], 6u);
  EXPECT_EQ(counted.candidate[DecisionCounters::kNewlyAllowed], 0u);
  EXPECT_EQ(counted.candidate[DecisionCounters::kAllowed] + counted.candidate[DecisionCounters::kDenied], 0u);
  EXPECT_EQ(ask("u", 0).remaining(), 0) << "its own counter was charged once";

  ASSERT_TRUE(catalog.remove_candidate("p"));
  ASSERT_TRUE(catalog.put_candidate({policy_with(15), 0, true, 2}));
  for (int i = 0; i < 20; ++i) ask("v");
  counted = sum();
  EXPECT_EQ(counted.candidate[DecisionCounters::kCompared], 33u) << "the look above is one of them";
  EXPECT_EQ(counted.candidate[DecisionCounters::kNewlyDenied], 6u);
  EXPECT_EQ(counted.candidate[DecisionCounters::kNewlyAllowed], 5u);
}

TEST_F(CandidateTest, LooksAndRepeatedRequestsAreNotCompared) {
  ASSERT_TRUE(catalog.change({.put = {policy_with(10)}}));
  roll_out(0, 0, true);
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(engine.check({.key = "u", .request_id = "same"}));
  ASSERT_TRUE(engine.usage({.key = "u"}));
  ASSERT_TRUE(engine.validate({.key = "u"}));
  EXPECT_EQ(sum().candidate[DecisionCounters::kCompared], 1u);
  EXPECT_EQ(sum().candidate[DecisionCounters::kNewlyDenied], 1u);
}

// Otherwise a candidate that equals its policy would seem to deny more.
TEST_F(CandidateTest, WhatIsGivenBackOrForgottenIsSoInTheComparisonToo) {
  LateStore late{store};
  Engine late_engine{{late, snapshots, hasher, clock, totals}};
  ASSERT_TRUE(catalog.change({.put = {policy_with(10)}}));
  roll_out(10, 0, true);
  const std::vector<CheckRequest> five = {{.key = "u", .cost = 5}};
  for (int i = 0; i < 6; ++i) {
    EXPECT_TRUE(ask("u", 5).allowed);
    engine.give_back(five, RefundReach::kEverything, [] { return Engine::LaterTogether(); });
    EXPECT_TRUE(ask("u", 5).allowed);
    late_engine.give_back(five, RefundReach::kEverything, [] { return [](const auto&) {}; });
    late.answer_all();
    EXPECT_TRUE(ask("v", 10).allowed);
    EXPECT_EQ(engine.reset({.key = "v"}), 1) << "whom nobody is told of does not count";
  }
  EXPECT_EQ(sum().candidate[DecisionCounters::kCompared], 18u) << "the checks alone";
  EXPECT_EQ(sum().candidate[DecisionCounters::kNewlyDenied], 0u);
}

TEST_F(CandidateTest, WhereTheCandidateDecidesThereIsNothingToCompare) {
  ASSERT_TRUE(catalog.change({.put = {policy_with(10)}}));
  roll_out(4, 100, true);
  for (int i = 0; i < 5; ++i) EXPECT_EQ(ask("u").allowed, i < 4);
  EXPECT_EQ(sum().candidate[DecisionCounters::kCompared], 0u);
  EXPECT_EQ(sum().candidate[DecisionCounters::kDenied], 1u);
}

// A candidate that cannot be planned for a request is not compared, not even by those of its limits that came
// before the failure; and it takes nothing from the candidates before it.
TEST_F(CandidateTest, ACandidateThatCannotBePlannedIsNotComparedAtAll) {
  Policy cap = make_policy("cap", {make_limit({.name = "all", .per = {}, .rate = {100, kSecondUs}})});
  cap.always = true;
  ASSERT_TRUE(catalog.change({.put = {policy_with(10), cap}}));
  roll_out(10, 0, true);
  Policy by_region = cap;
  by_region.limits[0] = make_limit({.name = "all", .per = {}, .rate = {1, 3600 * kSecondUs}});
  by_region.limits.push_back(make_limit({.name = "region", .per = {"region"}}));
  by_region.limits[1].required = true;
  roll_out(by_region, 0, true);
  const auto compared = [&](const char* id) {
    return totals.sum().by_policy[id].candidate[DecisionCounters::kCompared];
  };

  for (int i = 0; i < 3; ++i) EXPECT_TRUE(ask("u").allowed);
  EXPECT_EQ(compared("cap"), 0u);
  EXPECT_EQ(compared("p"), 3u);

  const Dimension region{"region", "eu"};
  EXPECT_TRUE(check({.key = "u", .dimensions = {&region, 1}}).allowed);
  EXPECT_EQ(compared("cap"), 1u);
  EXPECT_EQ(totals.sum().by_policy["cap"].candidate[DecisionCounters::kNewlyDenied], 0u)
      << "what could not be planned was not charged either";
}

TEST_F(CandidateTest, AShadowPolicyIsComparedWithItsCandidate) {
  Policy shadow = policy_with(10);
  shadow.shadow = true;
  ASSERT_TRUE(catalog.change({.put = {shadow}}));
  roll_out(4, 0, true);
  for (int i = 0; i < 12; ++i) EXPECT_TRUE(ask("u").allowed);
  EXPECT_EQ(sum().candidate[DecisionCounters::kCompared], 12u);
  EXPECT_EQ(sum().candidate[DecisionCounters::kNewlyDenied], 6u);
}

}  // namespace
}  // namespace sluice::testing

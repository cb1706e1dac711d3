// A candidate beside its policy: what the two share, and which changes the catalog allows meanwhile.
#include "policy/snapshot/candidate.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "policy/snapshot/catalog.h"

namespace sluice {
namespace {

Limit limit(const std::string& name, std::int64_t rate) {
  return {.name = name,
          .per = {"key"},
          .params = make_limit_params(Algorithm::kGcra, {rate, 1'000'000}, {}).value()};
}

Policy policy(std::int64_t rate, std::int64_t version = 7) {
  Policy made;
  made.id = "p";
  made.tenant = "t";
  made.resource = "/p";
  made.version = version;
  made.limits = {limit("one", rate)};
  made.tiers.edit()["gold"] = {limit("one", rate * 10)};
  return made;
}

Candidate candidate(std::int64_t rate, int percent = 10, bool compare = false) {
  return {.policy = policy(rate), .percent = percent, .compare = compare, .started_us = 1};
}

class CandidateTest : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(catalog.change({.put = {policy(100)}})); }
  std::shared_ptr<const Snapshot> snapshot() const { return snapshots.current(); }
  const CompiledPolicy& live() const { return *snapshot()->find("p"); }

  ParamsTable params;
  SnapshotPublisher snapshots;
  PolicyCatalog catalog{snapshots, params};
};

TEST_F(CandidateTest, BothVersionsShareCounters) {
  ASSERT_TRUE(catalog.put_candidate(candidate(50)));
  const CompiledPolicy& other = live().candidate->policy();
  EXPECT_EQ(live().candidate->percent(), 10u);
  EXPECT_EQ(other.limits[0].identity, live().limits[0].identity);
  EXPECT_EQ(other.tiers[0].limits[0].identity, live().tiers[0].limits[0].identity);
  EXPECT_EQ(live().version_text(), "p#7");
  EXPECT_EQ(other.version_text(), "p#7+candidate");
  EXPECT_EQ(other.source.version, 7);
  EXPECT_EQ(live().candidate->comparison(), nullptr);
}

TEST_F(CandidateTest, AComparisonHasCountersOfItsOwnInEveryRollout) {
  Candidate first = candidate(50, 0, true), second = first;
  second.started_us = 2;
  ASSERT_TRUE(catalog.put_candidate(first));
  const KeyHash then = live().candidate->comparison()->limits[0].identity;
  EXPECT_NE(then, live().limits[0].identity);
  EXPECT_NE(live().candidate->comparison()->tiers[0].limits[0].identity, live().tiers[0].limits[0].identity);
  ASSERT_TRUE(catalog.put_candidate(first));
  EXPECT_EQ(live().candidate->comparison()->limits[0].identity, then) << "the next stage goes on with them";
  ASSERT_TRUE(catalog.put_candidate(second));
  EXPECT_NE(live().candidate->comparison()->limits[0].identity, then);
}

TEST_F(CandidateTest, TheNumbersOfCountersStayWhateverComesAndGoes) {
  ASSERT_TRUE(catalog.put_candidate(candidate(50)));
  EXPECT_EQ(live().candidate->policy().version_number(), live().version_number() + 1) << "what it will be";
  const std::uint32_t own = live().index, others = live().candidate->policy().index;
  EXPECT_NE(own, others);
  ASSERT_TRUE(catalog.put_candidate(candidate(50, 20, true)));
  EXPECT_EQ(live().candidate->policy().index, others) << "a stage is no reason for another";
  EXPECT_EQ(live().candidate->comparison()->index, others);
  ASSERT_TRUE(catalog.remove_candidate("p"));
  EXPECT_EQ(live().candidate, nullptr);
  ASSERT_TRUE(catalog.put_candidate(candidate(70)));
  EXPECT_EQ(live().index, own);
  EXPECT_EQ(live().candidate->policy().index, others) << "it came back";
  ASSERT_TRUE(catalog.change({.put = {policy(70, 8)}}));
  EXPECT_EQ(live().index, own);
  const auto all = snapshot()->policy_indexes()->all();
  ASSERT_EQ(all.size(), 2u);
  EXPECT_TRUE(all[others].policy->is_candidate) << "withdrawn, but known by name";
  EXPECT_EQ(all[others].policy->source.id, "p");
}

TEST_F(CandidateTest, FinishedItIsThePolicyOnTheSameCounters) {
  ASSERT_TRUE(catalog.put_candidate(candidate(50, 100)));
  const ParamsId after = live().candidate->policy().limits[0].params;
  const KeyHash counters = live().limits[0].identity;
  ASSERT_TRUE(catalog.change({.put = {policy(50, 8)}}));
  EXPECT_EQ(live().version_text(), "p#8");
  EXPECT_EQ(live().candidate, nullptr);
  EXPECT_EQ(live().limits[0].params, after);
  EXPECT_EQ(live().limits[0].identity, counters);
}

TEST_F(CandidateTest, ItAppliesToTheSameRequestsOrIsRefused) {
  const auto refused = [&](const char* field, auto change) {
    Candidate wrong = candidate(50);
    change(wrong.policy);
    const auto tried = catalog.try_candidate(wrong);
    ASSERT_FALSE(tried) << field;
    EXPECT_EQ(tried.error().field, field);
    EXPECT_NE(tried.error().message.find("other requests"), std::string::npos) << tried.error().message;
    EXPECT_FALSE(catalog.put_candidate(wrong));
  };
  refused("tenant", [](Policy& wrong) { wrong.tenant = "u"; });
  refused("resource", [](Policy& wrong) { wrong.resource = "/q"; });
  refused("always", [](Policy& wrong) { wrong.always = true; });
  refused("rollout", [](Policy& wrong) { wrong.rollout.percent = 50; });
  EXPECT_EQ(live().candidate, nullptr);
}

TEST_F(CandidateTest, ItIsMadeForTheVersionInForce) {
  Candidate late = candidate(50);
  late.policy.version = 6;
  EXPECT_EQ(catalog.put_candidate(late).error().code, ErrorCode::kStale);
  late.policy.id = "nobody";
  EXPECT_EQ(catalog.put_candidate(late).error().code, ErrorCode::kNotFound);
  Policy filed = policy(1);
  filed.id = "filed";
  filed.resource = "/filed";
  ASSERT_TRUE(catalog.replace_files({filed}));
  Candidate of_file{.policy = filed, .percent = 1, .compare = false, .started_us = 1};
  EXPECT_EQ(catalog.put_candidate(of_file).error().code, ErrorCode::kConflict);
}

TEST_F(CandidateTest, APolicyOnItsWayCanOnlyArriveOrStay) {
  ASSERT_TRUE(catalog.put_candidate(candidate(50)));
  EXPECT_EQ(catalog.try_change({.put = {policy(60, 8)}}).error().code, ErrorCode::kConflict);
  EXPECT_EQ(catalog.try_change({.put = {}, .remove = {"p"}}).error().code, ErrorCode::kConflict);
  EXPECT_TRUE(catalog.try_change({.put = {policy(50, 1)}})) << "that is the candidate";
  ASSERT_TRUE(catalog.remove_candidate("p"));
  EXPECT_TRUE(catalog.try_change({.put = {policy(60, 8)}}));
}

TEST_F(CandidateTest, ItsLimitsCountWhereManyMeet) {
  Policy cap = policy(1);
  cap.id = "cap";
  cap.always = true;
  cap.limits.clear();
  cap.tiers = {};
  for (int i = 0; i < 16; ++i) cap.limits.push_back(limit("l" + std::to_string(i), 1));
  Policy second = cap;
  second.id = "second";
  second.limits.resize(15);
  ASSERT_TRUE(catalog.change({.put = {cap, second}})) << "32 limits with that of p";
  Candidate larger = candidate(50);
  larger.policy.limits.push_back(limit("two", 1));
  larger.policy.tiers = {};
  EXPECT_FALSE(catalog.put_candidate(larger)) << "33";
  larger.policy.shadow = true;
  EXPECT_TRUE(catalog.put_candidate(larger)) << "in shadow they are counted apart";
  second.limits.resize(16);
  EXPECT_FALSE(catalog.try_change({.put = {second}})) << "the policy itself has still one";
}

}  // namespace
}  // namespace sluice

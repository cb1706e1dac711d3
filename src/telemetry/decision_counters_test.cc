#include "telemetry/decision_counters.h"

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <thread>
#include <vector>

#include "policy/snapshot/snapshot_publisher.h"

namespace sluice {
namespace {

using Snapshots = std::shared_ptr<const Snapshot>;

// With the limits "burst" and "hour".
Policy policy_of(const std::string& id) {
  Policy policy;
  policy.id = id;
  policy.resource = "/" + id;
  for (const char* limit : {"burst", "hour"})
    policy.limits.push_back({.name = limit,
                             .per = {"ip"},
                             .params = make_limit_params(Algorithm::kGcra, {1, 1'000'000}, {}).value()});
  return policy;
}

// A snapshot of policies with these ids.
Snapshots snapshot_of(const std::vector<std::string>& ids, ParamsTable& params,
                      const Snapshot* before = nullptr) {
  std::vector<Policy> policies;
  for (const std::string& id : ids) policies.push_back(policy_of(id));
  return Snapshot::compile(std::move(policies), params, {}, before).value();
}

TEST(DecisionCounters, SumOverThreadsThatLiveAndThatEnded) {
  ParamsTable params;
  DecisionTotals totals;
  const Snapshots snapshot = snapshot_of({"a", "b"}, params);
  DecisionCounters here(totals);
  here.rebind(snapshot->policy_indexes());
  here.add(*snapshot->find("a"), DecisionCounters::kAllowed, 2);
  {
    DecisionCounters gone(totals);
    gone.rebind(snapshot->policy_indexes());
    gone.add(*snapshot->find("a"), DecisionCounters::kAllowed);
    gone.add_no_policy();
  }
  const auto sum = totals.sum();
  EXPECT_EQ(sum.by_policy.at("a").fields[DecisionCounters::kAllowed], 3u);
  EXPECT_EQ(sum.by_policy.at("b").fields[DecisionCounters::kAllowed], 0u);
  EXPECT_EQ(sum.no_policy, 1u);
}

TEST(DecisionCounters, NothingIsLostOrCountedTwiceWhenPoliciesChange) {
  ParamsTable params;
  DecisionTotals totals;
  DecisionCounters counters(totals);
  const Snapshots before = snapshot_of({"a"}, params);
  const Snapshots after = snapshot_of({"b", "a"}, params, before.get());
  counters.rebind(before->policy_indexes());
  const CompiledPolicy& a_before = *before->find("a");
  counters.add(a_before, DecisionCounters::kDenied, 5);
  counters.add_dimension_missing(a_before, a_before.limits[1]);
  counters.add_no_policy();
  counters.rebind(after->policy_indexes());
  const CompiledPolicy& a_after = *after->find("a");
  counters.add(a_after, DecisionCounters::kDenied, 2);
  counters.add_dimension_missing(a_after, a_after.limits[1]);
  for (int scrape = 0; scrape < 2; ++scrape) {
    const auto sum = totals.sum();
    EXPECT_EQ(sum.by_policy.at("a").fields[DecisionCounters::kDenied], 7u);
    EXPECT_EQ(sum.by_policy.at("a").dimension_missing.at("hour"), 2u);
    EXPECT_FALSE(sum.by_policy.at("a").dimension_missing.contains("burst"));
    EXPECT_EQ(sum.no_policy, 1u);
  }
}

Policy version_of(std::int64_t version, const std::string& owner) {
  Policy policy = policy_of("a");
  policy.version = version;
  policy.owner = owner;
  return policy;
}

TEST(DecisionCounters, LimitsAreCountedByVersionAndChecksByTheOwnerOfThatTime) {
  ParamsTable params;
  DecisionTotals totals;
  DecisionCounters counters(totals);
  Snapshots snapshot = Snapshot::compile({version_of(1, "search")}, params).value();
  for (std::int64_t version = 1; version <= 7; ++version) {
    if (version > 1)
      snapshot =
          snapshot->with({.put = {version_of(version, version < 7 ? "search" : "shop")}}, params).value();
    counters.rebind(snapshot->policy_indexes());
    const CompiledPolicy& policy = *snapshot->find("a");
    counters.turn_to(policy);
    counters.add(policy, DecisionCounters::kAllowed, 10);
    counters.add(policy, DecisionCounters::kDenied, 1);
    counters.add_limit(policy, policy.limits[0], DecisionCounters::kPassed);
    counters.add_limit(policy, policy.limits[1], DecisionCounters::kStopped);
  }
  for (int scrape = 0; scrape < 2; ++scrape) {
    const auto sum = totals.sum();
    const auto& versions = sum.by_policy.at("a").versions;
    EXPECT_EQ(versions.at(7).at("burst").fields[DecisionCounters::kPassed], 1u);
    EXPECT_EQ(versions.at(7).at("hour").fields[DecisionCounters::kStopped], 1u);
    EXPECT_EQ(versions.size(), 5u) << "four versions, and the older ones";
    EXPECT_EQ(versions.at(0).at("burst").fields[DecisionCounters::kPassed], 3u) << "versions 1 to 3";
    EXPECT_EQ(sum.by_owner.at("search").allowed, 60u);
    EXPECT_EQ(sum.by_owner.at("shop").allowed, 10u);
    EXPECT_EQ(sum.by_owner.at("search").denied, 6u);
    EXPECT_EQ(sum.denied_by_index[1], 7u);
    EXPECT_EQ(sum.denied_by_index[0], 0u);
  }
}

TEST(DecisionCounters, TheLatestLevelOfAllThreadsIsShown) {
  ParamsTable params;
  DecisionTotals totals;
  const Snapshots snapshot = snapshot_of({"a"}, params);
  DecisionCounters first(totals), second(totals);
  for (DecisionCounters* each : {&first, &second}) each->rebind(snapshot->policy_indexes());
  const CompiledPolicy& policy = *snapshot->find("a");
  second.note_level(policy, {.limit = 1, .capacity = 10, .remaining = 4, .at_us = 200});
  first.note_level(policy, {.limit = 0, .capacity = 10, .remaining = 9, .at_us = 100});
  const auto sum = totals.sum().by_policy.at("a");
  ASSERT_TRUE(sum.level);
  EXPECT_EQ(sum.level->remaining, 4);
  EXPECT_EQ(sum.level_limit, "hour");
}

// Policies come and go, and their numbers are reused. One thread follows at once, another only occasionally:
// it still counts for policies that were removed.
TEST(DecisionCounters, WhoGetsTheNumberOfAnotherBeginsAtZero) {
  constexpr std::size_t kKept = 5;
  ParamsTable params;
  DecisionTotals totals;
  DecisionCounters quick(totals), slow(totals);
  Snapshots snapshot = Snapshot::empty(std::make_shared<PolicyIndexes>(kKept)), of_slow = snapshot;
  slow.rebind(of_slow->policy_indexes());
  std::uint64_t counted = 0;
  std::map<std::string, std::uint64_t> counted_of;
  const auto count = [&](DecisionCounters& counters, const Snapshot& seen, const std::string& id) {
    const CompiledPolicy* const policy = seen.find(id);
    if (!policy) return;
    counters.add(*policy, DecisionCounters::kAllowed, ++counted_of[id]);
    counters.add_dimension_missing(*policy, policy->limits[0]);
    counted += counted_of[id];
  };
  for (int i = 0; i < 200; ++i) {
    const std::string id = "p" + std::to_string(i), last = "p" + std::to_string(i - 1);
    snapshot = snapshot->with({.put = {policy_of(id)}, .remove = {last}}, params).value();
    quick.rebind(snapshot->policy_indexes());
    for (int n = 0; n < 3; ++n) count(quick, *snapshot, id);
    if (i % 7 == 0) {
      of_slow = snapshot;
      slow.rebind(of_slow->policy_indexes());
    }
    const std::string slowly = "p" + std::to_string(i / 7 * 7);
    count(slow, *of_slow, slowly);
    const auto sum = totals.sum();
    const std::uint64_t own = 1 + 2 + 3 + (slowly == id ? 4 : 0);
    ASSERT_EQ(sum.by_policy.at(id).fields[DecisionCounters::kAllowed], own) << i;
    ASSERT_EQ(sum.by_policy.at(id).dimension_missing.at("burst"), slowly == id ? 4u : 3u) << i;
    ASSERT_EQ(totals.sum_of(*snapshot->find(id)).fields[DecisionCounters::kAllowed], own) << i;
    std::uint64_t all = 0;
    for (const auto& [name, each] : sum.by_policy) all += each.fields[DecisionCounters::kAllowed];
    ASSERT_EQ(all, counted) << "nothing is lost or counted twice, " << i;
    ASSERT_LE(sum.by_policy.size(), 2 * kKept + 2) << "those of long ago are one";
    ASSERT_LE(snapshot->policy_indexes()->all().size(), 2 * kKept + 2);
  }
  EXPECT_GT(
      totals.sum().by_policy.at(std::string(DecisionTotals::kWithdrawn)).fields[DecisionCounters::kAllowed],
      0u);
}

TEST(ConcurrentDecisionCounters, AreReadWhileTheyAreWritten) {
  ParamsTable params;
  DecisionTotals totals;
  const Snapshots snapshot = snapshot_of({"a"}, params);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      DecisionCounters counters(totals);
      for (int round = 0; round < 100; ++round) {
        counters.rebind(snapshot->policy_indexes());
        for (int i = 0; i < 100; ++i) counters.add(*snapshot->find("a"), DecisionCounters::kAllowed);
      }
    });
  for (int i = 0; i < 50; ++i) totals.sum();
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(totals.sum().by_policy.at("a").fields[DecisionCounters::kAllowed], 40'000u);
}

}  // namespace
}  // namespace sluice

#include "telemetry/decision_counters.h"

#include <gtest/gtest.h>

#include <thread>

#include "policy/repository.h"

namespace sluice {
namespace {

using Snapshots = std::shared_ptr<const Snapshot>;

// A snapshot of policies with these ids, each with the limits "burst" and "hour".
Snapshots snapshot_of(const std::vector<std::string>& ids, ParamsTable& params,
                      const Snapshot* before = nullptr) {
  std::vector<Policy> policies;
  for (const std::string& id : ids) {
    Policy policy;
    policy.id = id;
    policy.resource = "/" + id;
    for (const char* limit : {"burst", "hour"})
      policy.limits.push_back({.name = limit,
                               .per = {"ip"},
                               .params = make_limit_params(Algorithm::kGcra, {1, 1'000'000}, {}).value()});
    policies.push_back(std::move(policy));
  }
  return Snapshot::compile(std::move(policies), params, {}, before).value();
}

TEST(DecisionCounters, SumOverThreadsThatLiveAndThatEnded) {
  ParamsTable params;
  DecisionTotals totals;
  const Snapshots snapshot = snapshot_of({"a", "b"}, params);
  DecisionCounters here(totals);
  here.rebind(snapshot->numbers());
  here.add(*snapshot->find("a"), DecisionCounters::kAllowed, 2);
  {
    DecisionCounters gone(totals);
    gone.rebind(snapshot->numbers());
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
  counters.rebind(before->numbers());
  const CompiledPolicy& a_before = *before->find("a");
  counters.add(a_before, DecisionCounters::kDenied, 5);
  counters.add_dimension_missing(a_before, a_before.limits[1]);
  counters.add_no_policy();
  counters.rebind(after->numbers());
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

TEST(ConcurrentDecisionCounters, AreReadWhileTheyAreWritten) {
  ParamsTable params;
  DecisionTotals totals;
  const Snapshots snapshot = snapshot_of({"a"}, params);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      DecisionCounters counters(totals);
      for (int round = 0; round < 100; ++round) {
        counters.rebind(snapshot->numbers());
        for (int i = 0; i < 100; ++i) counters.add(*snapshot->find("a"), DecisionCounters::kAllowed);
      }
    });
  for (int i = 0; i < 50; ++i) totals.sum();
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(totals.sum().by_policy.at("a").fields[DecisionCounters::kAllowed], 40'000u);
}

}  // namespace
}  // namespace sluice

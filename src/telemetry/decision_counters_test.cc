#include "telemetry/decision_counters.h"

#include <gtest/gtest.h>

#include <thread>

namespace sluice {
namespace {

TEST(DecisionCounters, SumOverThreadsThatLiveAndThatEnded) {
  DecisionTotals totals;
  DecisionCounters here(totals);
  here.rebind({{"a", {"burst"}}, {"b", {}}});
  here.add(0, DecisionCounters::kAllowed, 2);
  {
    DecisionCounters gone(totals);
    gone.rebind({{"a", {"burst"}}});
    gone.add(0, DecisionCounters::kAllowed);
    gone.add_no_policy();
  }
  const auto sum = totals.sum();
  EXPECT_EQ(sum.by_policy.at("a").fields[DecisionCounters::kAllowed], 3u);
  EXPECT_EQ(sum.by_policy.at("b").fields[DecisionCounters::kAllowed], 0u);
  EXPECT_EQ(sum.no_policy, 1u);
}

TEST(DecisionCounters, NothingIsLostOrCountedTwiceWhenPoliciesChange) {
  DecisionTotals totals;
  DecisionCounters counters(totals);
  counters.rebind({{"a", {"burst", "hour"}}});
  counters.add(0, DecisionCounters::kDenied, 5);
  counters.add_dimension_missing(0, 1);
  counters.add_no_policy();
  counters.rebind({{"b", {}}, {"a", {"hour"}}});
  counters.add(1, DecisionCounters::kDenied, 2);
  counters.add_dimension_missing(1, 0);
  const auto sum = totals.sum();
  EXPECT_EQ(sum.by_policy.at("a").fields[DecisionCounters::kDenied], 7u);
  EXPECT_EQ(sum.by_policy.at("a").dimension_missing.at("hour"), 2u);
  EXPECT_EQ(sum.no_policy, 1u);
}

TEST(ConcurrentDecisionCounters, AreReadWhileTheyAreWritten) {
  DecisionTotals totals;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&totals] {
      DecisionCounters counters(totals);
      for (int round = 0; round < 10; ++round) {
        counters.rebind({{"a", {}}});
        for (int i = 0; i < 1000; ++i) counters.add(0, DecisionCounters::kAllowed);
      }
    });
  for (int i = 0; i < 50; ++i) totals.sum();
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(totals.sum().by_policy.at("a").fields[DecisionCounters::kAllowed], 40'000u);
}

}  // namespace
}  // namespace sluice

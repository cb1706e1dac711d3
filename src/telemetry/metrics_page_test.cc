#include "telemetry/metrics_page.h"
#include "policy/files/policy_file_loader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/limits.h"

namespace sluice {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(MetricsPage, ShowsDecisionsStoreAndPolicies) {
  DecisionTotals::Sum decisions;
  decisions.no_policy = 4;
  decisions.by_policy["api.read"].fields[DecisionCounters::kDenied] = 3;
  decisions.by_policy["api.read"].fields[DecisionCounters::kUnitsGivenBack] = 7;
  decisions.by_policy["api.read"].fields[DecisionCounters::kRefundsRefused] = 8;
  decisions.by_policy["api.read"].dimension_missing["hour"] = 2;
  StoreMetrics memory;
  memory.add(StoreMetrics::Kind::kGauge, "rate_limiter_store_keys", "Counters in memory.", 9);
  memory.add({StoreMetrics::Kind::kCounter,
              "rate_limiter_store_evicted_total",
              "By kind.",
              {{{"kind", "idle"}, 1}}});
  const std::string page = metrics_page(decisions, memory, {}, {.reloads = 5, .failures = 1});
  EXPECT_THAT(page, HasSubstr("rate_limiter_requests_denied_total{policy=\"api.read\"} 3\n"));
  EXPECT_THAT(page, HasSubstr("rate_limiter_units_given_back_total{policy=\"api.read\"} 7\n"));
  EXPECT_THAT(page, HasSubstr("rate_limiter_refunds_refused_total{policy=\"api.read\"} 8\n"));
  EXPECT_THAT(page,
              HasSubstr("rate_limiter_dimension_missing_total{policy=\"api.read\",limit=\"hour\"} 2\n"));
  EXPECT_THAT(page, HasSubstr("rate_limiter_failed_total{policy=\"api.read\",mode=\"open\"} 0\n"));
  EXPECT_THAT(page, HasSubstr("rate_limiter_no_policy_total 4\n"));
  EXPECT_THAT(page, HasSubstr("rate_limiter_store_keys 9\n"));
  EXPECT_THAT(page, HasSubstr("rate_limiter_store_evicted_total{kind=\"idle\"} 1\n"));
  EXPECT_THAT(page, HasSubstr("# TYPE rate_limiter_store_keys gauge\n"));
  EXPECT_THAT(page, HasSubstr("# TYPE rate_limiter_store_evicted_total counter\n"));
  EXPECT_THAT(page, HasSubstr("rate_limiter_config_reload_failures_total 1\n"));
}

TEST(MetricsPage, SumsUpWhatExceedsTheBoundOnLabelValues) {
  DecisionTotals::Sum decisions;
  for (std::size_t i = 0; i < kMetricPoliciesMax + 5; ++i)
    decisions.by_policy["p" + std::to_string(100'000 + i)].fields[DecisionCounters::kAllowed] = 1;
  const std::string page = metrics_page(decisions, {}, {}, {});
  EXPECT_THAT(page, HasSubstr("rate_limiter_requests_allowed_total{policy=\"p100000\"} 1\n"));
  EXPECT_THAT(page, HasSubstr("rate_limiter_requests_allowed_total{policy=\"other\"} 5\n"));
  EXPECT_THAT(page, Not(HasSubstr("policy=\"p101004\"")));
}

TEST(MetricsPage, ShowsCandidatesOfPoliciesThatHaveSome) {
  DecisionTotals::Sum sum;
  sum.by_policy["quiet"].fields[DecisionCounters::kAllowed] = 7;
  DecisionTotals::PolicySum& rolling = sum.by_policy["rolling"];
  rolling.fields[DecisionCounters::kAllowed] = 100;
  rolling.candidate[DecisionCounters::kAllowed] = 10;
  rolling.candidate[DecisionCounters::kNewlyDenied] = 3;
  const std::string page = metrics_page(sum, {}, {}, {});
  EXPECT_THAT(page, HasSubstr("rate_limiter_requests_allowed_total{policy=\"rolling\"} 100\n"));
  EXPECT_THAT(page, HasSubstr("rate_limiter_rollout_candidate_allowed_total{policy=\"rolling\"} 10\n"));
  EXPECT_THAT(page, HasSubstr("rate_limiter_rollout_newly_denied_total{policy=\"rolling\"} 3\n"));
  EXPECT_THAT(page, HasSubstr("rate_limiter_rollout_newly_allowed_total{policy=\"rolling\"} 0\n"));
  EXPECT_THAT(page, Not(HasSubstr("candidate_allowed_total{policy=\"quiet\"}")));
}

TEST(MetricsPage, AddsUpTheStoresOfAllLoops) {
  const auto full = [](std::uint64_t times) {
    StoreMetrics metrics;
    metrics.add(StoreMetrics::Kind::kCounter, "rate_limiter_store_full_total", "No room.", times);
    return metrics;
  };
  StoreSummary first{
      .loops = 1, .connected = 1, .reached = true, .problems = {"slow"}, .metrics = full(3), .servers = {}};
  first.metrics.add({StoreMetrics::Kind::kCounter,
                     "rate_limiter_redis_failures_total",
                     "By type.",
                     {{{"error_type", "timeout"}, 1}, {{"error_type", "readonly"}, 2}}});
  first.servers.push_back({.name = "a:1", .ahead_us = -1'500'000, .round_trip_us = 300});
  StoreSummary second = first;
  second.connected = 0;
  second.reached = false;
  second.problems = {"slow", "gone"};
  second.servers[0].left_out = true;
  second.servers[0].round_trip_us = 200;
  StoreSummary both = first;
  both.add(second);
  EXPECT_FALSE(both.reached) << "one loop has never been connected";
  EXPECT_THAT(both.problems, testing::ElementsAre("slow", "gone"));
  const std::string page = metrics_page({}, full(1), both, {});
  EXPECT_THAT(page, HasSubstr("rate_limiter_store_full_total 7\n")) << "that of the memory, too";
  EXPECT_THAT(page, HasSubstr("rate_limiter_redis_failures_total{error_type=\"timeout\"} 2\n"));
  EXPECT_THAT(page, HasSubstr("rate_limiter_redis_failures_total{error_type=\"readonly\"} 4\n"));
  EXPECT_THAT(page, HasSubstr("rate_limiter_redis_loops 2\n"));
  EXPECT_THAT(page, HasSubstr("rate_limiter_redis_connected_loops 1\n"));
  EXPECT_THAT(page, HasSubstr("rate_limiter_clock_delta_seconds{node=\"a:1\"} -1.5"));
  EXPECT_THAT(page, HasSubstr("rate_limiter_redis_node_left_out{node=\"a:1\"} 1\n"));
  EXPECT_THAT(page, HasSubstr("rate_limiter_redis_round_trip_seconds{node=\"a:1\"} 0.0002"));
}

TEST(MetricsPage, ShowsConnectionsOnlyOfStoresThatHaveThem) {
  EXPECT_THAT(metrics_page({}, {}, {.loops = 1, .connected = 1}, {}), Not(HasSubstr("redis")));
}

TEST(MetricsPage, ShowsMovesOfTheLoopThatMakesThem) {
  StoreSummary all;
  all.add({.loops = 1, .moves = TenantMoveCounters{.done = 1, .stopped = 2, .anew = 3, .keys = 40}});
  all.add({.loops = 1});
  const std::string page = metrics_page({}, {}, all, {});
  EXPECT_THAT(page, HasSubstr("rate_limiter_tenant_moves_total{result=\"done\"} 1\n"));
  EXPECT_THAT(page, HasSubstr("rate_limiter_tenant_moves_total{result=\"stopped\"} 2\n"));
  EXPECT_THAT(page, HasSubstr("rate_limiter_tenant_moves_total{result=\"anew\"} 3\n"));
  EXPECT_THAT(page, HasSubstr("rate_limiter_tenant_moved_keys_total 40\n"));
}

}  // namespace
}  // namespace sluice

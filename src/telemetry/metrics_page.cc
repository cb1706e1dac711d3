#include "telemetry/metrics_page.h"

#include <algorithm>

#include "base/limits.h"
#include "policy/files/policy_file_loader.h"
#include "telemetry/check_metrics.h"
#include "telemetry/prometheus.h"

namespace sluice {
namespace {

using PolicySum = DecisionTotals::PolicySum;
using PolicySums = std::map<std::string, PolicySum>;

std::string_view to_string(OnFailure mode) {
  constexpr std::string_view kNames[] = {"open", "closed", "local"};
  return kNames[static_cast<std::size_t>(mode)];
}

PolicySums bounded(const PolicySums& all) {
  PolicySums out;
  for (const auto& [id, sum] : all) {
    const bool is_named = out.size() < kMetricPoliciesMax;
    PolicySum& into = out[is_named ? id : "other"];
    into.on_failure = sum.on_failure;
    for (int field = 0; field < DecisionCounters::kFields; ++field) {
      into.fields[field] += sum.fields[field];
      into.candidate[field] += sum.candidate[field];
    }
    for (const auto& [limit, n] : sum.dimension_missing) into.dimension_missing[limit] += n;
    if (!is_named) continue;  // their limits have nothing in common
    into.versions = sum.versions;
    into.level = sum.level;
    into.level_limit = sum.level_limit;
  }
  return out;
}

struct Family {
  DecisionCounters::Field field;
  std::string_view name;
  std::string_view help;
};

// Only for policies whose candidates have decided something.
void write_candidates(PrometheusText& text, const PolicySums& policies) {
  for (const Family& family :
       {Family{DecisionCounters::kAllowed, "rate_limiter_rollout_candidate_allowed_total",
               "Of the checks that were allowed, those that a candidate decided."},
        {DecisionCounters::kDenied, "rate_limiter_rollout_candidate_denied_total",
         "Of the checks that were denied, those that a candidate decided."},
        {DecisionCounters::kCompared, "rate_limiter_rollout_compared_total",
         "Checks decided by a policy, and also by its candidate for comparison."},
        {DecisionCounters::kNewlyDenied, "rate_limiter_rollout_newly_denied_total",
         "Of the checks that were compared, those that only the candidate would have denied."},
        {DecisionCounters::kNewlyAllowed, "rate_limiter_rollout_newly_allowed_total",
         "Of the checks that were compared, those that only the candidate would have allowed."}}) {
    text.family(family.name, "counter", family.help);
    for (const auto& [id, sum] : policies)
      if (std::ranges::any_of(sum.candidate, [](std::uint64_t n) { return n > 0; }))
        text.sample({{"policy", id}}, sum.candidate[family.field]);
  }
}

void write_policies(PrometheusText& text, const DecisionTotals::Sum& decisions, const PolicySums& policies) {
  for (const Family& family :
       {Family{DecisionCounters::kAllowed, "rate_limiter_requests_allowed_total",
               "Checks that were allowed."},
        {DecisionCounters::kDenied, "rate_limiter_requests_denied_total", "Checks that were denied."},
        {DecisionCounters::kUnitsDenied, "rate_limiter_deny_count_total",
         "Cost of the checks that were denied."},
        {DecisionCounters::kShadowDenied, "rate_limiter_shadow_denied_total",
         "Checks that a shadow policy would have denied."},
        {DecisionCounters::kUnitsConsumed, "rate_limiter_tokens_consumed_total",
         "Cost of the checks that were allowed."},
        {DecisionCounters::kUnitsGivenBack, "rate_limiter_units_given_back_total",
         "Units that callers asked to give back; a counter never gives back more than it holds."},
        {DecisionCounters::kRefundsRefused, "rate_limiter_refunds_refused_total",
         "Refunds that had no effect because the caller lacks the right."}}) {
    text.family(family.name, "counter", family.help);
    for (const auto& [id, sum] : policies) text.sample({{"policy", id}}, sum.fields[family.field]);
  }
  text.family("rate_limiter_failed_total", "counter",
              "Checks decided by a failure rule: without the store, or without policies.");
  for (const auto& [id, sum] : policies)
    text.sample({{"policy", id}, {"mode", to_string(sum.on_failure)}}, sum.fields[DecisionCounters::kFailed]);
  // Counted by --before-policies; there is no policy to name.
  text.sample({{"policy", ""}, {"mode", "open"}}, decisions.unknown_allowed);
  text.sample({{"policy", ""}, {"mode", "closed"}}, decisions.unknown_denied);
  text.family("rate_limiter_dimension_missing_total", "counter",
              "Limits skipped because the request lacked a dimension.");
  for (const auto& [id, sum] : policies)
    for (const auto& [limit, n] : sum.dimension_missing) text.sample({{"policy", id}, {"limit", limit}}, n);
}

void write_value(PrometheusText& text, std::string_view name, std::string_view type, std::string_view help,
                 std::uint64_t value) {
  text.family(name, type, help);
  text.sample({}, value);
}

// The names that others know some families by.
std::string_view other_name(std::string_view name) {
  if (name == "rate_limiter_redis_failures_total") return "rate_limiter_redis_errors_total";
  if (name == "rate_limiter_redis_batches_total") return "rate_limiter_redis_script_executions_total";
  return "";
}

void write_family(PrometheusText& text, std::string_view name, const StoreMetrics::Family& family) {
  text.family(name, family.kind == StoreMetrics::Kind::kCounter ? "counter" : "gauge", family.help);
  for (const auto& [label, value] : family.samples) {
    if (label.name.empty())
      text.sample({}, value);
    else
      text.sample({{label.name, label.value}}, value);
  }
}

void write_metrics(PrometheusText& text, const StoreMetrics& metrics) {
  for (const StoreMetrics::Family& family : metrics.families()) {
    write_family(text, family.name, family);
    if (const std::string_view other = other_name(family.name); !other.empty())
      write_family(text, other, family);
  }
}

// About connections and servers of stores that are not in this process.
void write_connections(PrometheusText& text, const StoreSummary& stores) {
  write_value(text, "rate_limiter_redis_connected_loops", "gauge", "Loops whose store answers.",
              static_cast<std::uint64_t>(stores.connected));
  write_value(text, "rate_limiter_redis_loops", "gauge", "Loops that have connections to the store.",
              static_cast<std::uint64_t>(stores.loops));
  write_value(text, "rate_limiter_redis_connection_pool_size", "gauge",
              "Connections to the store that this node wants: one per loop and server.",
              static_cast<std::uint64_t>(stores.loops));
  write_value(text, "rate_limiter_redis_connection_pool_available", "gauge",
              "Of these, those that can be used now.", static_cast<std::uint64_t>(stores.connected));
  text.family("rate_limiter_clock_delta_seconds", "gauge",
              "How far the clock of a Redis node is ahead of ours; negative: behind.");
  for (const StoreServer& server : stores.servers)
    if (server.ahead_us) text.sample_seconds({{"node", server.name}}, *server.ahead_us);
  text.family("rate_limiter_redis_node_left_out", "gauge",
              "1: a node of a Cluster is left out because its clock is wrong.");
  for (const StoreServer& server : stores.servers)
    text.sample({{"node", server.name}}, std::uint64_t{server.left_out});
  text.family("rate_limiter_redis_round_trip_seconds", "gauge",
              "How long the fastest answer of a Redis node in the last seconds took.");
  for (const StoreServer& server : stores.servers)
    if (server.round_trip_us) text.sample_seconds({{"node", server.name}}, *server.round_trip_us);
}

void write_moves(PrometheusText& text, const TenantMoveCounters& moves) {
  text.family("rate_limiter_tenant_moves_total", "counter",
              "Tenants moved to another cell, by what happened to their counters.");
  text.sample({{"result", "done"}}, moves.done);
  text.sample({{"result", "stopped"}}, moves.stopped);
  text.sample({{"result", "anew"}}, moves.anew);
  write_value(text, "rate_limiter_tenant_moved_keys_total", "counter",
              "Counters moved to another cell with their tenants.", moves.keys);
}

}  // namespace

std::string metrics_page(const DecisionTotals::Sum& decisions, const StoreMetrics& memory,
                         const StoreSummary& stores, const PolicyFileStatus& policies) {
  PrometheusText text;
  const PolicySums policy_sums = bounded(decisions.by_policy);
  write_checks(text, decisions.checks);
  write_policies(text, decisions, policy_sums);
  write_limits(text, policy_sums);
  write_limiting_index(text, decisions);
  write_owners(text, decisions.by_owner);
  write_candidates(text, policy_sums);
  write_value(text, "rate_limiter_no_policy_total", "counter", "Checks allowed because no policy matched.",
              decisions.no_policy);
  write_value(text, "rate_limiter_unknown_tier_total", "counter",
              "Checks that named a tier that no policy has.", decisions.unknown_tier);
  write_value(text, "rate_limiter_policies_unavailable_total", "counter",
              "Checks that matched no known policy before the policies could be read.",
              decisions.unknown_allowed + decisions.unknown_denied);
  write_value(text, "rate_limiter_switch_checks_total", "counter",
              "Checks allowed because the big red switch was open.", decisions.switched);
  StoreMetrics all = memory;
  all += stores.metrics;
  write_metrics(text, all);
  write_value(text, "rate_limiter_store_degraded", "gauge",
              "1: the store is slow or silent, and failure rules decide some of the checks.",
              stores.degraded);
  if (!stores.metrics.empty()) write_connections(text, stores);
  if (stores.moves) write_moves(text, *stores.moves);
  write_value(text, "rate_limiter_config_reloads_total", "counter", "Policy documents applied.",
              policies.reloads);
  write_value(text, "rate_limiter_config_reload_failures_total", "counter",
              "Policy documents refused; the last good one stays in force.", policies.failures);
  return std::move(text).take();
}

}  // namespace sluice

#include "telemetry/metrics_page.h"

#include <algorithm>

#include "base/limits.h"
#include "policy/files/file_repository.h"
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
    PolicySum& into = out.size() < kMetricPoliciesMax ? out[id] : out["other"];
    into.on_failure = sum.on_failure;
    for (int field = 0; field < DecisionCounters::kFields; ++field) {
      into.fields[field] += sum.fields[field];
      into.candidate[field] += sum.candidate[field];
    }
    for (const auto& [limit, n] : sum.dimension_missing) into.dimension_missing[limit] += n;
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

void write_memory(PrometheusText& text, const Store::Stats& store, const StoreReport& report) {
  write_value(text, "rate_limiter_store_keys", "gauge", "Counters in memory.", store.keys);
  write_value(text, "rate_limiter_store_bytes", "gauge", "Memory used by counters.", store.bytes);
  write_value(text, "rate_limiter_store_bytes_max", "gauge", "Memory limit for counters.", store.bytes_max);
  write_value(text, "rate_limiter_store_expired_total", "counter",
              "Counters removed because they had fully recovered.", store.expired);
  text.family("rate_limiter_store_evicted_total", "counter", "Counters evicted to make room, by kind.");
  text.sample({{"kind", "idle"}}, store.evicted_idle);
  write_value(text, "rate_limiter_store_full_total", "counter",
              "Checks decided by the failure rule because the store was full.",
              store.no_room + (report.redis ? report.redis->no_room : 0));
}

void write_requests(PrometheusText& text, const RequestLog::Stats& requests) {
  write_value(text, "rate_limiter_request_ids", "gauge", "Request ids remembered in memory.",
              requests.entries);
  write_value(text, "rate_limiter_request_ids_bytes", "gauge", "Memory used by request ids.", requests.bytes);
  write_value(text, "rate_limiter_request_ids_evicted_total", "counter",
              "Request ids evicted early for lack of memory.", requests.evicted);
}

void write_redis(PrometheusText& text, const StoreReport& store, const RedisStoreCounters& redis) {
  struct Value {
    std::string_view name;
    std::string_view help;
    std::uint64_t value;
  };
  write_value(text, "rate_limiter_redis_connected_loops", "gauge", "Loops whose store answers.",
              static_cast<std::uint64_t>(store.connected));
  write_value(text, "rate_limiter_redis_loops", "gauge", "Loops that have connections to the store.",
              static_cast<std::uint64_t>(store.loops));
  for (const Value& value :
       {Value{"rate_limiter_redis_batches_total", "Calls of the script.", redis.batches},
        {"rate_limiter_redis_checks_total", "Checks in those calls.", redis.checks},
        {"rate_limiter_redis_keys_total", "Keys in those calls.", redis.keys},
        {"rate_limiter_denied_from_memory_total",
         "Checks denied without asking Redis: their counters denied recently and had no room yet.",
         redis.denied_from_memory},
        {"rate_limiter_redis_sent_again_total",
         "Checks repeated after a lost connection: those with a request id.", redis.sent_again},
        {"rate_limiter_redis_scripts_reloaded_total", "Calls that had to send the script.",
         redis.scripts_reloaded},
        {"rate_limiter_redis_connections_made_total", "Connections made.", redis.connections_made},
        {"rate_limiter_redis_connections_lost_total", "Connections lost, and attempts that failed.",
         redis.connections_lost},
        {"rate_limiter_redis_contradictions_total",
         "Answers of the script that differ from this process's own computation. Please report them.",
         redis.contradictions}})
    write_value(text, value.name, "counter", value.help, value.value);
  text.family("rate_limiter_redis_breaker_transitions_total", "counter",
              "Transitions of the servers' circuit breakers, by the state entered.");
  text.sample({{"state", "open"}}, store.breaker.open);
  text.sample({{"state", "half_open"}}, store.breaker.half_open);
  text.sample({{"state", "closed"}}, store.breaker.closed);
  text.family("rate_limiter_redis_failures_total", "counter", "What went wrong, in checks or error replies.");
  text.sample({{"error_type", "timeout"}}, redis.timeouts);
  text.sample({{"error_type", "connection_lost"}}, redis.lost);
  text.sample({{"error_type", "breaker_open"}}, redis.turned_away);
  text.sample({{"error_type", "queue_full"}}, redis.queue_full);
  for (std::size_t kind = 0; kind < redis.errors.size(); ++kind)
    text.sample({{"error_type", label_of(static_cast<redis::ServerError>(kind))}}, redis.errors[kind]);
  text.family("rate_limiter_shed_total", "counter",
              "Checks refused because the store could not have answered in time, by reason.");
  text.sample({{"reason", "queue_full"}}, redis.shed_queue_full);
  text.sample({{"reason", "caller_deadline"}}, redis.shed_caller_deadline);
  text.family("rate_limiter_clock_delta_seconds", "gauge",
              "How far the clock of a Redis node is ahead of ours; negative: behind.");
  for (const StoreReport::Node& node : store.nodes)
    if (node.ahead_us) text.sample_seconds({{"node", node.name}}, *node.ahead_us);
  text.family("rate_limiter_redis_node_left_out", "gauge",
              "1: a node of a Cluster is left out because its clock is wrong.");
  for (const StoreReport::Node& node : store.nodes)
    text.sample({{"node", node.name}}, std::uint64_t{node.left_out});
  text.family("rate_limiter_redis_round_trip_seconds", "gauge",
              "How long the fastest answer of a Redis node in the last seconds took.");
  for (const StoreReport::Node& node : store.nodes)
    if (node.round_trip_us) text.sample_seconds({{"node", node.name}}, *node.round_trip_us);
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

std::string metrics_page(const DecisionTotals::Sum& decisions, const Store::Stats& memory,
                         const RequestLog::Stats& requests, const StoreReport& store,
                         const RepositoryStatus& policies) {
  PrometheusText text;
  const PolicySums policy_sums = bounded(decisions.by_policy);
  write_policies(text, decisions, policy_sums);
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
  write_memory(text, memory, store);
  write_requests(text, requests);
  write_value(text, "rate_limiter_store_degraded", "gauge",
              "1: the store is slow or silent, and failure rules decide some of the checks.", store.degraded);
  if (store.redis) write_redis(text, store, *store.redis);
  if (store.moves) write_moves(text, *store.moves);
  write_value(text, "rate_limiter_config_reloads_total", "counter", "Policy documents applied.",
              policies.reloads);
  write_value(text, "rate_limiter_config_reload_failures_total", "counter",
              "Policy documents refused; the last good one stays in force.", policies.failures);
  return std::move(text).take();
}

}  // namespace sluice

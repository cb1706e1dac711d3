#include "telemetry/metrics_page.h"

#include "base/limits.h"
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
    for (int field = 0; field < DecisionCounters::kFields; ++field) into.fields[field] += sum.fields[field];
    for (const auto& [limit, n] : sum.dimension_missing) into.dimension_missing[limit] += n;
  }
  return out;
}

void write_policies(PrometheusText& text, const PolicySums& policies) {
  struct Family {
    DecisionCounters::Field field;
    std::string_view name;
    std::string_view help;
  };
  for (const Family& family :
       {Family{DecisionCounters::kAllowed, "rate_limiter_requests_allowed_total",
               "Checks that were allowed."},
        {DecisionCounters::kDenied, "rate_limiter_requests_denied_total", "Checks that were denied."},
        {DecisionCounters::kShadowDenied, "rate_limiter_shadow_denied_total",
         "Checks that a shadow policy would have denied."},
        {DecisionCounters::kUnitsConsumed, "rate_limiter_tokens_consumed_total",
         "Cost of the checks that were allowed."}}) {
    text.family(family.name, "counter", family.help);
    for (const auto& [id, sum] : policies) text.sample({{"policy", id}}, sum.fields[family.field]);
  }
  text.family("rate_limiter_failed_total", "counter",
              "Checks decided by the failure rule, without the store.");
  for (const auto& [id, sum] : policies)
    text.sample({{"policy", id}, {"mode", to_string(sum.on_failure)}}, sum.fields[DecisionCounters::kFailed]);
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

void write_store(PrometheusText& text, const Store::Stats& store) {
  write_value(text, "rate_limiter_store_keys", "gauge", "Counters in memory.", store.keys);
  write_value(text, "rate_limiter_store_bytes", "gauge", "Memory that counters take.", store.bytes);
  write_value(text, "rate_limiter_store_bytes_max", "gauge", "Memory that counters may take.",
              store.bytes_max);
  write_value(text, "rate_limiter_store_expired_total", "counter",
              "Counters forgotten because they were full again.", store.expired);
  text.family("rate_limiter_store_evicted_total", "counter",
              "Counters forgotten for lack of memory, by what they were.");
  text.sample({{"kind", "idle"}}, store.evicted_idle);
  text.sample({{"kind", "in_use"}}, store.evicted_in_use);
  text.sample({{"kind", "over_limit"}}, store.evicted_over_limit);
}

}  // namespace

std::string metrics_page(const DecisionTotals::Sum& decisions, const Store::Stats& store,
                         const RepositoryStatus& policies) {
  PrometheusText text;
  write_policies(text, bounded(decisions.by_policy));
  write_value(text, "rate_limiter_no_policy_total", "counter", "Checks allowed because no policy matched.",
              decisions.no_policy);
  write_store(text, store);
  write_value(text, "rate_limiter_config_reloads_total", "counter", "Policy documents put in force.",
              policies.reloads);
  write_value(text, "rate_limiter_config_reload_failures_total", "counter",
              "Policy documents refused; the last good one stayed in force.", policies.failures);
  return std::move(text).take();
}

}  // namespace sluice

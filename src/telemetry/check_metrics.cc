#include "telemetry/check_metrics.h"

#include <algorithm>
#include <array>
#include <span>

#include "base/limits/metric_limits.h"

namespace sluice {
namespace {

using PolicySums = std::map<std::string, DecisionTotals::PolicySum>;
using LimitField = DecisionCounters::LimitField;

std::string_view algorithm_of(std::size_t slot) {
  return slot == CheckMeter::kNoAlgorithm ? "none" : to_string(static_cast<Algorithm>(slot));
}

bool is_used(const CheckMeter::Sum& checks, std::size_t slot) {
  return std::ranges::any_of(checks.ends[slot], [](std::uint64_t n) { return n > 0; });
}

std::string version_text(std::int64_t version) { return version == 0 ? "older" : std::to_string(version); }

// Calls `write` with the labels of every limit of every version.
template <class Write>
void for_each_limit(const PolicySums& policies, const Write& write) {
  for (const auto& [policy, sum] : policies)
    for (const auto& [version, limits] : sum.versions)
      for (const auto& [limit, counts] : limits) write(policy, version_text(version), limit, counts.fields);
}

void write_limit_checks(PrometheusText& text, const PolicySums& policies) {
  text.family("rate_limiter_limit_checks_total", "counter",
              "Checks that a limit let pass and that were allowed, and checks denied because of it.");
  for_each_limit(policies, [&](const auto& policy, const auto& version, const auto& limit, const auto& n) {
    for (const auto& [result, field] :
         {std::pair{"allowed", LimitField::kPassed}, {"denied", LimitField::kStopped}})
      text.sample({{"policy", policy}, {"version", version}, {"limit", limit}, {"result", result}}, n[field]);
  });
  text.family("rate_limiter_limit_near_total", "counter",
              "Of the checks that a limit let pass, those after which more than 80 % of it was used.");
  for_each_limit(policies, [&](const auto& policy, const auto& version, const auto& limit, const auto& n) {
    text.sample({{"policy", policy}, {"version", version}, {"limit", limit}}, n[LimitField::kPassedNear]);
  });
}

void write_levels(PrometheusText& text, const PolicySums& policies) {
  text.family("rate_limiter_bucket_current_level", "gauge",
              "Units used of the tightest limit, for the key that was sampled last.");
  for (const auto& [policy, sum] : policies)
    if (sum.level)
      text.sample_signed({{"policy", policy}, {"limit", sum.level_limit}},
                         sum.level->capacity - sum.level->remaining);
  text.family(
      "rate_limiter_remaining_capacity_by_policy", "gauge",
      "Units left of the tightest limit, for the key that was sampled last; policy_index is its position.");
  for (const auto& [policy, sum] : policies)
    if (sum.level)
      text.sample_signed({{"policy", policy}, {"policy_index", std::to_string(sum.level->limit)}},
                         sum.level->remaining);
}

}  // namespace

void write_checks(PrometheusText& text, const CheckMeter::Sum& checks) {
  text.family("rate_limiter_requests_total", "counter",
              "Checks by the algorithm of the limit that decided, the result, and what went wrong.");
  for (std::size_t slot = 0; slot < CheckMeter::kSlots; ++slot) {
    for (std::size_t error = 0; error < kCheckErrors; ++error)
      for (std::size_t result = 0; result < kCheckResults; ++result) {
        const auto [why, how] = std::pair{static_cast<CheckError>(error), static_cast<CheckResult>(result)};
        const std::uint64_t n = checks.count(slot, how, why);
        // What is usual is shown from the first check on, so that a rate can see the first denial.
        const bool is_usual = why == CheckError::kNone && how != CheckResult::kError && is_used(checks, slot);
        if (n > 0 || is_usual || (slot == CheckMeter::kNoAlgorithm && error + result == 0))
          text.sample(
              {{"algorithm", algorithm_of(slot)}, {"result", to_string(how)}, {"error", to_string(why)}}, n);
      }
  }
  text.family("rate_limiter_latency_seconds", "histogram",
              "Time to decide a check, the store included, by the algorithm of the limit that decided.");
  DurationHistogram all;
  for (std::size_t slot = 0; slot < CheckMeter::kSlots; ++slot) {
    all += checks.latency[slot];
    if (is_used(checks, slot) || slot == CheckMeter::kNoAlgorithm)
      text.histogram({{"algorithm", algorithm_of(slot)}}, checks.latency[slot]);
  }
  text.family("rate_limiter_request_duration_seconds", "histogram",
              "Time to decide a check, of all algorithms.");
  text.histogram({}, all);
}

void write_limits(PrometheusText& text, const PolicySums& policies) {
  write_limit_checks(text, policies);
  write_levels(text, policies);
}

void write_limiting_index(PrometheusText& text, const DecisionTotals::Sum& decisions) {
  std::array<std::string, kLimitsPerPolicyMax> bounds;
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < bounds.size(); ++i) {
    bounds[i] = std::to_string(i);
    sum += i * decisions.denied_by_index[i];
  }
  std::vector<std::uint64_t> counts(decisions.denied_by_index.begin(), decisions.denied_by_index.end());
  counts.push_back(0);
  text.family("rate_limiter_bucket_limiting_rate_index", "histogram",
              "Denied checks by the position, in its policy, of the limit that denied.");
  text.histogram({}, std::vector<std::string_view>(bounds.begin(), bounds.end()), counts,
                 std::to_string(sum));
}

void write_owners(PrometheusText& text, const std::map<std::string, DecisionTotals::OwnerSum>& owners) {
  std::map<std::string, DecisionTotals::OwnerSum> shown;
  for (const auto& [owner, sum] : owners) {
    DecisionTotals::OwnerSum& into = shown.size() < kMetricOwnersMax ? shown[owner] : shown["other"];
    into.allowed += sum.allowed;
    into.denied += sum.denied;
  }
  text.family("rate_limiter_owner_requests_total", "counter",
              "Checks by the owner of the policy, as it was when they were decided; empty: no owner.");
  for (const auto& [owner, sum] : shown) {
    text.sample({{"owner", owner}, {"result", "allowed"}}, sum.allowed);
    text.sample({{"owner", owner}, {"result", "denied"}}, sum.denied);
  }
}

std::string policy_count_metrics(const Snapshot& policies) {
  constexpr std::array<std::size_t, 7> kBounds = {1, 2, 5, 10, 100, 1'000, 10'000};
  std::map<std::string_view, std::size_t> by_domain;
  std::size_t count = 0;
  policies.policies().for_each([&](const auto& policy) {
    ++by_domain[policy->source.tenant];
    ++count;
  });
  PrometheusText text;
  // These two names are given; their suffixes mean something else to Prometheus, hence without a type.
  text.family("rate_limiter_bucket_policies_count", "untyped", "Policies in force.");
  text.sample({}, count);
  text.family("rate_limiter_active_domains_total", "untyped",
              "Tenants that policies in force are for; those for any tenant count as one more.");
  text.sample({}, by_domain.size());
  text.family("rate_limiter_active_policies_per_domain", "histogram", "Policies in force per tenant.");
  std::array<std::uint64_t, kBounds.size() + 1> counts{};
  for (const auto& [domain, n] : by_domain)
    ++counts[static_cast<std::size_t>(std::ranges::lower_bound(kBounds, n) - kBounds.begin())];
  std::array<std::string, kBounds.size()> bounds;
  std::ranges::transform(kBounds, bounds.begin(), [](std::size_t n) { return std::to_string(n); });
  const std::vector<std::string_view> bound_texts(bounds.begin(), bounds.end());
  text.histogram({}, bound_texts, counts, std::to_string(count));
  return std::move(text).take();
}

}  // namespace sluice

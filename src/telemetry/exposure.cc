#include "telemetry/exposure.h"

#include <algorithm>
#include <iterator>
#include <span>

#include "base/limits.h"
#include "telemetry/prometheus.h"

namespace sluice {
namespace {

using Units = std::optional<std::uint64_t>;  // nullopt: no bound

Units sum(Units a, Units b) { return a && b ? Units(*a + *b) : std::nullopt; }
Units larger(Units a, Units b) { return a && b ? Units(std::max(*a, *b)) : std::nullopt; }

bool has_all_dimensions_of(const CompiledLimit& limit, const CompiledLimit& other) {
  return std::ranges::includes(limit.per(), other.per());  // both are sorted
}

// What the local limiter may admit to one key of a limit at once: what its own local numbers hold, or those
// of another limit that counts each of its keys within one of its own. REQUIRES: all have local numbers.
std::uint64_t local_units(std::span<const CompiledLimit> limits) {
  std::uint64_t most = 0;
  for (const CompiledLimit& limit : limits) {
    if (limit.is_none) continue;
    std::uint64_t units = UINT64_MAX;
    for (const CompiledLimit& counted : limits)
      if (has_all_dimensions_of(limit, counted))
        units = std::min(units, static_cast<std::uint64_t>(counted.local->numbers->capacity));
    most = std::max(most, units);
  }
  return most;
}

Units failure_units(const CompiledPolicy& policy, const Exposure& exposure) {
  const bool redis_leaves_checks = exposure.store_fails || exposure.store_is_full;
  switch (policy.source.on_failure) {
    case OnFailure::kOpen:
      return redis_leaves_checks || exposure.memory_is_full ? std::nullopt : Units(0);
    case OnFailure::kClosed:
      return 0;
    case OnFailure::kLocal:
      break;
  }
  if (!redis_leaves_checks) return 0;  // without memory, local denies
  std::uint64_t most = local_units(policy.limits);
  for (const CompiledTier& tier : policy.tiers) most = std::max(most, local_units(tier.limits));
  return most;
}

// Of the version in force, or of its candidate.
Units version_units(const CompiledPolicy& policy, const Exposure& exposure) {
  if (policy.shadow) return 0;
  if (exposure.switch_is_open) return std::nullopt;
  const auto leased = exposure.leased.find(policy.source.id);
  const std::int64_t units = leased == exposure.leased.end() ? 0 : leased->second;
  return sum(static_cast<std::uint64_t>(units) + exposure.node_leased, failure_units(policy, exposure));
}

// The first policies by name, and all others as one, without a copy of all names.
class FirstByName {
 public:
  // REQUIRES: each policy is added once.
  void add(const std::string& policy, Units units) {
    if (first_.size() == kMetricPoliciesMax && policy > first_.rbegin()->first) return add_other(units);
    first_.emplace(policy, units);
    if (first_.size() <= kMetricPoliciesMax) return;
    add_other(first_.rbegin()->second);
    first_.erase(std::prev(first_.end()));
  }
  void write(PrometheusText& text) const {
    for (const auto& [policy, units] : first_) text.sample_or_infinite({{"policy", policy}}, units);
    if (others_) text.sample_or_infinite({{"policy", "other"}}, *others_);
  }

 private:
  void add_other(Units units) { others_ = sum(others_.value_or(0), units); }

  std::map<std::string, Units> first_;
  std::optional<Units> others_;  // nullopt: there are none
};

}  // namespace

std::optional<std::uint64_t> overshoot_bound(const CompiledPolicy& policy, const Exposure& exposure) {
  const Units bound = version_units(policy, exposure);
  return policy.candidate ? larger(bound, version_units(policy.candidate->policy(), exposure)) : bound;
}

std::string exposure_metrics(const Snapshot& policies, const Exposure& exposure) {
  PrometheusText text;
  text.family("rate_limiter_leased_units", "gauge",
              "Units of leases granted by this node that have neither expired nor been returned.");
  FirstByName leased, bounds;
  for (const auto& [policy, units] : exposure.leased) {
    leased.add(policy, static_cast<std::uint64_t>(units));
    if (!policies.find(policy)) bounds.add(policy, static_cast<std::uint64_t>(units));  // withdrawn since
  }
  leased.write(text);
  policies.policies().for_each(
      [&](const auto& policy) { bounds.add(policy->source.id, overshoot_bound(*policy, exposure)); });
  text.family("rate_limiter_overshoot_bound", "gauge",
              "Units that may pass beyond a limit of the policy now, for any one key, because of this node.");
  bounds.write(text);
  return std::move(text).take();
}

}  // namespace sluice

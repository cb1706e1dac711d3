#include "doors/envoy/envoy_planner.h"

#include <algorithm>

#include "base/try.h"

namespace sluice::doors {
namespace {

// Hits may come from a header of Envoy's client, so a number that is too large is not an error: Envoy would
// let such a request pass.
void take_hits(std::uint64_t hits, bool gives_back, CheckRequest& check) {
  constexpr auto kMost = static_cast<std::uint64_t>(kCostMax);
  check.cost = static_cast<std::int64_t>(std::min(hits, kMost));
  check.fits_nowhere = hits > kMost && !gives_back;
}

}  // namespace

Result<std::span<const CheckRequest>> EnvoyPlanner::plan(std::int64_t deadline_us,
                                                         std::span<const FullQuota> full) {
  envoy_.planned.clear();
  envoy_.resources.clear();
  envoy_.checks.clear();
  envoy_.refunds.clear();
  const std::size_t count = envoy_.request.descriptors.size();
  for (std::size_t i = 0; i < count; ++i) find(i);
  if (has_replacements_) drop_replaced();
  if (!full.empty()) [[unlikely]]
    mark_full(full, envoy_.planned);
  std::size_t begin = 0;
  for (std::size_t i = 0; i < count; ++i) {
    PlannedDescriptor& descriptor = envoy_.planned[i];
    const std::string_view resource(envoy_.resources.data() + begin, descriptor.resource_end - begin);
    begin = descriptor.resource_end;
    if (descriptor.kind == Kind::kLetThrough) continue;
    std::vector<CheckRequest>& those = descriptor.gives_back ? envoy_.refunds : envoy_.checks;
    descriptor.check = those.size();
    CheckRequest& check = those.emplace_back();
    check.deadline_us = deadline_us;
    SLUICE_TRY(fill(i, resource, check));
  }
  return envoy_.checks;
}

void EnvoyPlanner::find(std::size_t i) {
  PlannedDescriptor& descriptor = envoy_.planned.emplace_back();
  descriptor.gives_back = envoy_.request.descriptors[i].gives_back;
  const auto entries = envoy_.request.entries_of(i);
  const bool brings_limit = domain_ && envoy_.request.descriptors[i].limit;
  if (domain_ && !brings_limit) descriptor.rule = domain_->find(entries, envoy_.resources);
  if (brings_limit) {
    descriptor.kind = Kind::kOverride;
    const auto unit = static_cast<EnvoyUnit>(envoy_.request.descriptors[i].limit->unit);
    append_envoy_counter(entries, to_string(unit), envoy_.resources);
  } else if (descriptor.rule) {
    descriptor.kind = descriptor.rule->policy_id.empty() ? Kind::kLetThrough : Kind::kRule;
    has_replacements_ |= !descriptor.rule->replaces.empty();
    has_quotas_ |= descriptor.rule->quota && !descriptor.gives_back;
  } else {
    append_fitting_resource(entries, envoy_.resources);
  }
  descriptor.resource_end = envoy_.resources.size();
}

// Limits that another limit of the request replaces do not count, even if that one is itself replaced.
void EnvoyPlanner::drop_replaced() {
  for (const PlannedDescriptor& by : envoy_.planned)
    if (by.rule)
      for (const std::string& name : by.rule->replaces)
        for (PlannedDescriptor& descriptor : envoy_.planned)
          if (descriptor.rule && descriptor.rule->name == name) descriptor.kind = Kind::kLetThrough;
}

Result<void> EnvoyPlanner::fill(std::size_t i, std::string_view resource, CheckRequest& check) {
  const PlannedDescriptor& descriptor = envoy_.planned[i];
  check.tenant = envoy_.request.domain;
  check.dimensions = envoy_.request.dimensions_of(i);
  check.resource = resource;
  check.trace = context_.trace;
  if (const auto hits = envoy_.request.hits_of(i)) take_hits(*hits, descriptor.gives_back, check);
  if (descriptor.kind == Kind::kRule) {
    check.policy_id = descriptor.rule->policy_id;
    check.policy_id_lasts = true;
  }
  if (descriptor.kind == Kind::kOverride) {
    check.policy_id = domain_->override_policy_id();
    auto numbers = take_limit(
        context_, {Algorithm::kFixedWindow, rate_of(*envoy_.request.descriptors[i].limit), {}}, owner_);
    if (!numbers) {
      numbers.error().field = "descriptors[" + std::to_string(i) + "].limit";
      return std::unexpected(std::move(numbers.error()));
    }
    check.numbers = *numbers;
  }
  return {};
}

}  // namespace sluice::doors

#include "policy/snapshot/limits_per_request.h"

#include <algorithm>

#include "base/limits.h"
#include "policy/matching/pattern.h"

namespace sluice {
namespace {

using Part = MostPerRequest::Part;

Part larger(const Part& a, const Part& b) {
  if (!a.policy || !b.policy) return a.policy ? a : b;
  return a.amount >= b.amount ? a : b;
}

std::size_t log_entries_of(const std::vector<Limit>& limits) {
  std::size_t entries = 0;
  for (const Limit& limit : limits)
    if (limit.params.algorithm == Algorithm::kSlidingLog)
      entries += static_cast<std::size_t>(limit.params.capacity);
  return entries;
}

// In the largest tier.
std::size_t log_entries_of(const Policy& policy) {
  std::size_t entries = log_entries_of(policy.limits);
  for (const auto& [tier, limits] : policy.tiers) entries = std::max(entries, log_entries_of(limits));
  return entries;
}

// What is said about one quantity.
struct Quantity {
  std::string_view name;
  std::size_t max;
  std::string_view field;
  std::string_view advice;
};
constexpr Quantity kLimits{
    .name = "limits",
    .max = kLimitsPerCheckMax,
    .field = "always",
    .advice = "use fewer limits in `always` policies, or give them different exact resources"};
constexpr Quantity kLogEntries{.name = "entries of sliding_logs",
                               .max = kLogEntriesPerCheckMax,
                               .field = "limits",
                               .advice = "use smaller sliding_logs, or sliding_window"};

std::optional<TooManyLimits> find_too_many(const Quantity& quantity, std::string_view tenant,
                                           const MostPerRequest& own, const MostPerRequest& any) {
  const std::size_t always = own.always() + any.always();
  const Part beside = larger(own.beside(), any.beside());
  const std::size_t all = always + beside.amount;
  if (all <= quantity.max) return std::nullopt;
  std::string text =
      "up to " + std::to_string(all) + ' ' + std::string(quantity.name) + " could apply to one request";
  if (!tenant.empty()) text += " of tenant \"" + std::string(tenant) + '"';
  text += ": ";
  if (always > 0) text += std::to_string(always) + " of `always` policies";
  if (always > 0 && beside.policy) text += " and ";
  if (beside.policy) text += std::to_string(beside.amount) + " of policy \"" + beside.policy->id + '"';
  text += "; at most " + std::to_string(quantity.max) + " are allowed; " + std::string(quantity.advice);
  // A specific policy is to blame only if there is no other: the `always` policies come on top of it.
  const bool has_always = own.last_always() || any.last_always();
  return TooManyLimits{quantity.field,
                       std::move(text),
                       {own.last_always(), any.last_always(), has_always ? nullptr : beside.policy}};
}

void find_too_many_limits_among(const std::vector<const Policy*>& policies, bool shadow,
                                std::vector<TooManyLimits>& out) {
  std::map<std::string_view, LimitsPerRequest> of_tenant;  // "": any tenant
  for (const Policy* policy : policies)
    if (policy->shadow == shadow) of_tenant[policy->tenant].add(*policy);
  const LimitsPerRequest& any = of_tenant[""];
  if (auto too_many = find_too_many_limits("", {}, any)) return out.push_back(std::move(*too_many));
  for (const auto& [tenant, own] : of_tenant)
    if (auto too_many = tenant.empty() ? std::nullopt : find_too_many_limits(tenant, own, any))
      out.push_back(std::move(*too_many));
}

}  // namespace

void MostPerRequest::add(const Policy& policy, std::size_t amount) {
  if (!policy.always) {
    specific_ = larger(specific_, {&policy, amount});
    return;
  }
  last_always_ = &policy;
  const auto pattern = parse_pattern(policy.resource);
  if (pattern && pattern->kind == Pattern::Kind::kExact) {
    fullest_ = std::max(fullest_, always_at_[policy.resource] += amount);
    largest_exact_ = larger(largest_exact_, {&policy, amount});
  } else {
    always_anywhere_ += amount;
  }
}

MostPerRequest::Part MostPerRequest::beside() const {
  return larger(specific_, always_at_.size() > 1 ? largest_exact_ : Part{});
}

void LimitsPerRequest::add(const Policy& policy) {
  limits.add(policy, policy.limits.size());
  if (const std::size_t entries = log_entries_of(policy); entries > 0) log_entries.add(policy, entries);
}

std::optional<TooManyLimits> find_too_many_limits(std::string_view tenant, const LimitsPerRequest& own,
                                                  const LimitsPerRequest& any) {
  if (auto too_many = find_too_many(kLimits, tenant, own.limits, any.limits)) return too_many;
  return find_too_many(kLogEntries, tenant, own.log_entries, any.log_entries);
}

std::vector<TooManyLimits> find_too_many_limits(const std::vector<const Policy*>& policies) {
  std::vector<TooManyLimits> too_many;
  for (const bool shadow : {false, true}) find_too_many_limits_among(policies, shadow, too_many);
  return too_many;
}

}  // namespace sluice

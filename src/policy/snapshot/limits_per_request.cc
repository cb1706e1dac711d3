#include "policy/snapshot/limits_per_request.h"

#include <algorithm>

#include "base/limits.h"
#include "policy/matching/pattern.h"

namespace sluice {
namespace {

const Policy* larger(const Policy* a, const Policy* b) {
  if (!a || !b) return a ? a : b;
  return a->limits.size() >= b->limits.size() ? a : b;
}

void find_too_many_limits_among(const std::vector<const Policy*>& policies, bool shadow,
                                std::vector<TooManyLimits>& out) {
  std::map<std::string_view, LimitsPerRequest> of_tenant;  // "": any tenant
  std::map<const Policy*, std::size_t> position_of;
  for (std::size_t i = 0; i < policies.size(); ++i) {
    if (policies[i]->shadow != shadow) continue;
    of_tenant[policies[i]->tenant].add(*policies[i]);
    position_of[policies[i]] = i;
  }
  const LimitsPerRequest& any = of_tenant[""];
  const auto last = [&](const LimitsPerRequest& limits) {
    return limits.last_always() ? position_of[limits.last_always()] : 0;
  };
  if (std::string message = too_many_limits_message("", {}, any); !message.empty())
    return out.push_back({last(any), std::move(message)});
  for (const auto& [tenant, own] : of_tenant)
    if (std::string message = tenant.empty() ? "" : too_many_limits_message(tenant, own, any);
        !message.empty())
      out.push_back({std::max(last(any), last(own)), std::move(message)});
}

}  // namespace

void LimitsPerRequest::add(const Policy& policy) {
  if (!policy.always) {
    specific_ = larger(specific_, &policy);
    return;
  }
  last_always_ = &policy;
  const auto pattern = parse_pattern(policy.resource);
  if (pattern && pattern->kind == Pattern::Kind::kExact) {
    fullest_ = std::max(fullest_, always_at_[policy.resource] += policy.limits.size());
    largest_exact_ = larger(largest_exact_, &policy);
  } else {
    always_anywhere_ += policy.limits.size();
  }
}

const Policy* LimitsPerRequest::beside() const {
  return larger(specific_, always_at_.size() > 1 ? largest_exact_ : nullptr);
}

std::string too_many_limits_message(std::string_view tenant, const LimitsPerRequest& own,
                                    const LimitsPerRequest& any) {
  const std::size_t always = own.always() + any.always();
  const Policy* const beside = larger(own.beside(), any.beside());
  const std::size_t limits = always + (beside ? beside->limits.size() : 0);
  if (limits <= kLimitsPerCheckMax) return {};
  std::string text = "up to " + std::to_string(limits) + " limits could apply to one request";
  if (!tenant.empty()) text += " of tenant \"" + std::string(tenant) + '"';
  text += ": " + std::to_string(always) + " of `always` policies";
  if (beside) text += " and " + std::to_string(beside->limits.size()) + " of policy \"" + beside->id + '"';
  return text + "; at most " + std::to_string(kLimitsPerCheckMax) +
         " are allowed; use fewer limits in `always` policies, or give them different exact resources";
}

std::vector<TooManyLimits> find_too_many_limits(const std::vector<const Policy*>& policies) {
  std::vector<TooManyLimits> limits_per_request;
  if (std::ranges::none_of(policies, [](const Policy* policy) { return policy->always; }))
    return limits_per_request;
  for (const bool shadow : {false, true}) find_too_many_limits_among(policies, shadow, limits_per_request);
  return limits_per_request;
}

}  // namespace sluice

#include "policy/crowds.h"

#include <algorithm>

#include "base/limits.h"
#include "policy/pattern.h"

namespace sluice {
namespace {

const Policy* larger(const Policy* a, const Policy* b) {
  if (!a || !b) return a ? a : b;
  return a->limits.size() >= b->limits.size() ? a : b;
}

void find_crowds_among(const std::vector<const Policy*>& policies, bool shadow, std::vector<Crowd>& out) {
  std::map<std::string_view, LimitCrowd> of_tenant;  // "" is any
  std::map<const Policy*, std::size_t> position_of;
  for (std::size_t i = 0; i < policies.size(); ++i) {
    if (policies[i]->shadow != shadow) continue;
    of_tenant[policies[i]->tenant].add(*policies[i]);
    position_of[policies[i]] = i;
  }
  const LimitCrowd& any = of_tenant[""];
  const auto last = [&](const LimitCrowd& crowd) {
    return crowd.last_always() ? position_of[crowd.last_always()] : 0;
  };
  if (std::string message = crowd_message("", {}, any); !message.empty())
    return out.push_back({last(any), std::move(message)});
  for (const auto& [tenant, own] : of_tenant)
    if (std::string message = tenant.empty() ? "" : crowd_message(tenant, own, any); !message.empty())
      out.push_back({std::max(last(any), last(own)), std::move(message)});
}

}  // namespace

void LimitCrowd::add(const Policy& policy) {
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

const Policy* LimitCrowd::beside() const {
  return larger(specific_, always_at_.size() > 1 ? largest_exact_ : nullptr);
}

std::string crowd_message(std::string_view tenant, const LimitCrowd& own, const LimitCrowd& any) {
  const std::size_t always = own.always() + any.always();
  const Policy* const beside = larger(own.beside(), any.beside());
  const std::size_t limits = always + (beside ? beside->limits.size() : 0);
  if (limits <= kLimitsPerCheckMax) return {};
  std::string text = "up to " + std::to_string(limits) + " limits could apply to one request";
  if (!tenant.empty()) text += " of tenant \"" + std::string(tenant) + '"';
  text += ": " + std::to_string(always) + " of `always` policies";
  if (beside) text += " and " + std::to_string(beside->limits.size()) + " of policy \"" + beside->id + '"';
  return text + "; at most " + std::to_string(kLimitsPerCheckMax) +
         " may, so put fewer limits into `always` policies, or give them exact resources that differ";
}

std::vector<Crowd> find_crowds(const std::vector<const Policy*>& policies) {
  std::vector<Crowd> crowds;
  if (std::ranges::none_of(policies, [](const Policy* policy) { return policy->always; })) return crowds;
  for (const bool shadow : {false, true}) find_crowds_among(policies, shadow, crowds);
  return crowds;
}

}  // namespace sluice

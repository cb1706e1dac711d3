#include "plan/report/tally.h"

#include "base/limits.h"
#include "base/time_units.h"
#include "engine/request/check_request.h"
#include "plan/report/shown_text.h"

namespace sluice::plan {

void Tally::add(std::int64_t at_us, const CheckRequest& request, const Result<Decision>& decision,
                bool denied_then) {
  const bool denied = decision && !decision->allowed;
  const bool newly = denied && !denied_then;
  if (totals_.requests++ == 0) totals_.first_us = at_us;
  totals_.last_us = at_us;
  totals_.denied_then += denied_then;
  totals_.newly_denied += newly;
  totals_.newly_allowed += denied_then && decision && decision->allowed;
  timeline_.add(at_us, denied, newly);
  const bool has_pattern = decision && decision->policy && !decision->policy->source.resource.empty();
  add_resource(has_pattern ? decision->policy->source.resource : Dimensions(request).resource(), denied,
               newly);
  if (!decision) {
    ++totals_.refused;
    if (first_refusal_.empty()) first_refusal_ = decision.error().message;
    return;
  }
  if (!decision->policy) {
    ++totals_.no_policy;
    return;
  }
  ++(denied ? totals_.denied : totals_.allowed);
  add_limits(at_us, request, *decision, newly);
}

void Tally::add_limits(std::int64_t at_us, const CheckRequest& request, const Decision& decision,
                       bool newly) {
  const Dimensions dimensions(request);
  for (const LimitStatus& status : decision.limits) {
    KeyTally* const key = follow(dimensions, status);
    const bool denies = !decision.allowed && &status == decision.tightest;
    if (key) {
      const std::int64_t cost = request.cost ? *request.cost : status.policy->cost_of(dimensions.resource());
      key->asked.add(at_us / status.numbers->rate.period_us, static_cast<std::uint64_t>(cost));
    }
    if (!denies) continue;
    LimitTally& limit = limits_[number_of(status)];
    limit.happened.add(at_us, newly);
    limit.seconds.add(at_us / kSecondUs, 1);
    limit.minutes.add(at_us / kMinuteUs, 1);
    if (!key) continue;
    if (key->happened.denied == 0) {
      ++limit.keys;
      key->label = static_cast<std::uint32_t>(labels_.size());
      labels_.push_back(label_of(dimensions, *status.limit));
    }
    key->happened.add(at_us, newly);
  }
}

std::uint32_t Tally::number_of(const LimitStatus& status) {
  const auto [at, is_new] = numbers_.try_emplace(status.limit, static_cast<std::uint32_t>(limits_.size()));
  if (is_new) limits_.push_back({.policy = status.policy, .limit = status.limit});
  return at->second;
}

// Null: too many keys.
KeyTally* Tally::follow(const Dimensions& dimensions, const LimitStatus& status) {
  const auto key = counter_key(dimensions, *status.limit, hasher_);
  if (!key) return nullptr;  // cannot happen: the limit was charged
  if (keys_.size() == kPlanKeysMax) {
    const auto found = keys_.find(*key);
    if (found == keys_.end()) keys_are_complete_ = false;
    return found == keys_.end() ? nullptr : &found->second;
  }
  const auto [at, is_new] = keys_.try_emplace(*key);
  if (is_new) at->second.limit = number_of(status);
  return &at->second;
}

void Tally::add_resource(std::string_view resource, bool denied, bool newly) {
  auto found = resources_.find(resource);
  if (found == resources_.end()) {
    const bool full = resources_.size() >= kPlanResourcesMax;
    found = resources_.try_emplace(full ? std::string("(others)") : std::string(resource)).first;
  }
  ++found->second.requests;
  found->second.denied += denied;
  found->second.newly_denied += newly;
}

// "user alice, ip 192.0.2.7"
std::string Tally::label_of(const Dimensions& dimensions, const CompiledLimit& limit) const {
  std::string label;
  for (const CompiledDimension& dimension : *limit.key) {
    const std::string_view value = dimensions.value_of(dimension);
    if (!label.empty()) label += ", ";
    label += dimension.name + ' ' + shown_(dimension.name, value);
  }
  return label.empty() ? "all together" : label;
}

}  // namespace sluice::plan

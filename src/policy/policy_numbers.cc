#include "policy/policy_numbers.h"

#include <cassert>

namespace sluice {

std::uint32_t PolicyNumbers::take(const std::string& id) {
  const std::lock_guard lock(mutex_);
  if (const auto found = withdrawn_.find(id); found != withdrawn_.end()) return found->second;
  if (known_.size() == kMax) return kMax;
  known_.emplace_back();
  return static_cast<std::uint32_t>(known_.size() - 1);
}

void PolicyNumbers::note(std::shared_ptr<const CompiledPolicy> policy) {
  const std::lock_guard lock(mutex_);
  assert(policy->number < known_.size());
  withdrawn_.erase(policy->source.id);
  known_[policy->number] = std::move(policy);
}

void PolicyNumbers::withdraw(std::uint32_t number) {
  auto names = std::make_shared<CompiledPolicy>();
  const std::lock_guard lock(mutex_);
  const CompiledPolicy& policy = *known_[number];
  names->number = number;
  names->source.id = policy.source.id;
  names->source.on_failure = policy.source.on_failure;
  for (const Limit& limit : policy.source.limits) names->source.limits.push_back({.name = limit.name});
  withdrawn_.emplace(names->source.id, number);
  known_[number] = std::move(names);
}

std::vector<std::shared_ptr<const CompiledPolicy>> PolicyNumbers::all() const {
  const std::lock_guard lock(mutex_);
  return known_;
}

}  // namespace sluice

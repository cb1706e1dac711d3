#include "policy/policy_numbers.h"

#include <cassert>

namespace sluice {
namespace {

// No id has such a sign.
std::string name_of(const CompiledPolicy& policy) {
  return policy.is_candidate ? policy.source.id + "#candidate" : policy.source.id;
}

}  // namespace

std::uint32_t PolicyNumbers::take(const CompiledPolicy& policy) {
  const std::lock_guard lock(mutex_);
  if (const auto found = withdrawn_.find(name_of(policy)); found != withdrawn_.end()) return found->second;
  if (known_.size() == kMax) return kMax;
  known_.emplace_back();
  return static_cast<std::uint32_t>(known_.size() - 1);
}

void PolicyNumbers::note(std::shared_ptr<const CompiledPolicy> policy) {
  const std::lock_guard lock(mutex_);
  assert(policy->number < known_.size());
  withdrawn_.erase(name_of(*policy));
  known_[policy->number] = std::move(policy);
}

void PolicyNumbers::withdraw(std::uint32_t number) {
  auto names = std::make_shared<CompiledPolicy>();
  const std::lock_guard lock(mutex_);
  const CompiledPolicy& policy = *known_[number];
  names->number = number;
  names->is_candidate = policy.is_candidate;
  names->source.id = policy.source.id;
  names->source.on_failure = policy.source.on_failure;
  for (const Limit& limit : policy.source.limits) names->source.limits.push_back({.name = limit.name});
  withdrawn_.emplace(name_of(*names), number);
  known_[number] = std::move(names);
}

std::vector<std::shared_ptr<const CompiledPolicy>> PolicyNumbers::all() const {
  const std::lock_guard lock(mutex_);
  return known_;
}

}  // namespace sluice

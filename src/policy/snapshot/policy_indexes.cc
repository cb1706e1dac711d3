#include "policy/snapshot/policy_indexes.h"

#include <cassert>
#include <utility>

namespace sluice {
namespace {

// "#" does not occur in ids.
std::string name_of(const CompiledPolicy& policy) {
  return policy.is_candidate ? policy.source.id + "#candidate" : policy.source.id;
}

}  // namespace

std::uint32_t PolicyIndexes::take(const CompiledPolicy& policy) {
  const Lock lock(mutex_);
  if (const auto found = withdrawn_.find(name_of(policy)); found != withdrawn_.end()) {
    const auto [index, since] = found->second;
    by_age_.erase(since);
    withdrawn_.erase(found);
    return index;
  }
  if (free_.empty() && known_.size() == kMax) release_oldest(withdrawn_.size());
  if (!free_.empty()) {
    const std::uint32_t index = free_.back();
    free_.pop_back();
    return index;
  }
  assert(known_.size() < kMax);
  known_.emplace_back();
  return static_cast<std::uint32_t>(known_.size() - 1);
}

void PolicyIndexes::note(std::shared_ptr<const CompiledPolicy> policy) {
  const Lock lock(mutex_);
  assert(policy->index < known_.size());
  known_[policy->index].policy = std::move(policy);
}

void PolicyIndexes::withdraw(std::uint32_t index) {
  auto names = std::make_shared<CompiledPolicy>();
  const Lock lock(mutex_);
  const CompiledPolicy& policy = *known_[index].policy;
  names->index = index;
  names->is_candidate = policy.is_candidate;
  names->source.id = policy.source.id;
  names->source.on_failure = policy.source.on_failure;
  for (const Limit& limit : policy.source.limits) names->source.limits.push_back({.name = limit.name});
  const std::string name = name_of(*names);
  if (!withdrawn_.emplace(name, Withdrawn{index, withdrawals_ + 1}).second) return;
  by_age_.emplace(++withdrawals_, name);
  known_[index].policy = std::move(names);
  if (withdrawn_.size() == 2 * withdrawn_kept_) release_oldest(withdrawn_kept_);
}

// In batches: users of the indexes see each release, and must then check all their indexes.
void PolicyIndexes::release_oldest(std::size_t count) {
  const std::uint64_t now = released_.load(std::memory_order_relaxed) + 1;
  for (; count > 0; --count) {
    const auto found = withdrawn_.find(by_age_.begin()->second);
    known_[found->second.index] = {nullptr, now};
    free_.push_back(found->second.index);
    withdrawn_.erase(found);
    by_age_.erase(by_age_.begin());
  }
  released_.store(now, std::memory_order_release);
}

std::vector<PolicyIndexes::Known> PolicyIndexes::all() const {
  const Lock lock(mutex_);
  return known_;
}

std::uint64_t PolicyIndexes::released(std::uint32_t index) const {
  const Lock lock(mutex_);
  return index < known_.size() ? known_[index].released : 0;
}

}  // namespace sluice

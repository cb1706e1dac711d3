#include "policy/snapshot/policy_numbers.h"

#include <cassert>
#include <utility>

namespace sluice {
namespace {

// "#" does not occur in ids.
std::string name_of(const CompiledPolicy& policy) {
  return policy.is_candidate ? policy.source.id + "#candidate" : policy.source.id;
}

}  // namespace

std::uint32_t PolicyNumbers::take(const CompiledPolicy& policy) {
  const std::lock_guard lock(mutex_);
  if (const auto found = withdrawn_.find(name_of(policy)); found != withdrawn_.end()) {
    const auto [number, since] = found->second;
    by_age_.erase(since);
    withdrawn_.erase(found);
    return number;
  }
  if (free_.empty() && known_.size() == kMax) give_up_oldest(withdrawn_.size());
  if (!free_.empty()) {
    const std::uint32_t number = free_.back();
    free_.pop_back();
    return number;
  }
  assert(known_.size() < kMax);
  known_.emplace_back();
  return static_cast<std::uint32_t>(known_.size() - 1);
}

void PolicyNumbers::note(std::shared_ptr<const CompiledPolicy> policy) {
  const std::lock_guard lock(mutex_);
  assert(policy->number < known_.size());
  known_[policy->number].policy = std::move(policy);
}

void PolicyNumbers::withdraw(std::uint32_t number) {
  auto names = std::make_shared<CompiledPolicy>();
  const std::lock_guard lock(mutex_);
  const CompiledPolicy& policy = *known_[number].policy;
  names->number = number;
  names->is_candidate = policy.is_candidate;
  names->source.id = policy.source.id;
  names->source.on_failure = policy.source.on_failure;
  for (const Limit& limit : policy.source.limits) names->source.limits.push_back({.name = limit.name});
  const std::string name = name_of(*names);
  if (!withdrawn_.emplace(name, Withdrawn{number, withdrawals_ + 1}).second) return;
  by_age_.emplace(++withdrawals_, name);
  known_[number].policy = std::move(names);
  if (withdrawn_.size() == 2 * withdrawn_kept_) give_up_oldest(withdrawn_kept_);
}

// In batches: users of the numbers see each release, and must then check all their numbers.
void PolicyNumbers::give_up_oldest(std::size_t count) {
  const std::uint64_t now = given_up_.load(std::memory_order_relaxed) + 1;
  for (; count > 0; --count) {
    const auto found = withdrawn_.find(by_age_.begin()->second);
    known_[found->second.number] = {nullptr, now};
    free_.push_back(found->second.number);
    withdrawn_.erase(found);
    by_age_.erase(by_age_.begin());
  }
  given_up_.store(now, std::memory_order_release);
}

std::vector<PolicyNumbers::Known> PolicyNumbers::all() const {
  const std::lock_guard lock(mutex_);
  return known_;
}

std::uint64_t PolicyNumbers::given_up(std::uint32_t number) const {
  const std::lock_guard lock(mutex_);
  return number < known_.size() ? known_[number].given_up : 0;
}

}  // namespace sluice

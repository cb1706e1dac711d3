#include "store/replaceable_store.h"

#include <algorithm>
#include <utility>

#include "base/limits.h"

namespace sluice {
namespace {

constexpr std::int64_t kDrainUsMin = 2'000'000;

}  // namespace

void DrainingStores::add(std::unique_ptr<Store> store, std::int64_t now_us) {
  // Resets have no deadline that we can see, but take no longer than an operation may. Calls wait at most as
  // long as the longest deadline of a policy.
  stores_.push_back({std::move(store), now_us + kDrainUsMin, now_us + kDeadlineUsMax});
}

void DrainingStores::tick(std::int64_t now_us) {
  for (Draining& old : stores_) old.store->tick(now_us);
  std::erase_if(stores_, [now_us](const Draining& old) {
    return old.not_after_us <= now_us ||
           (old.not_before_us <= now_us && old.store->next_due_us() == INT64_MAX);
  });
}

std::int64_t DrainingStores::next_due_us() const {
  std::int64_t due_us = INT64_MAX;
  for (const Draining& old : stores_) due_us = std::min(due_us, old.store->next_due_us());
  return due_us;
}

void ReplaceableStore::replace(std::unique_ptr<Store> store, std::int64_t now_us) {
  draining_.add(std::exchange(store_, std::move(store)), now_us);
}

void ReplaceableStore::tick(std::int64_t now_us) {
  store_->tick(now_us);
  draining_.tick(now_us);
}

std::int64_t ReplaceableStore::next_due_us() const {
  return std::min(store_->next_due_us(), draining_.next_due_us());
}

}  // namespace sluice

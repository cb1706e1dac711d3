#include "policy/snapshot/repository.h"

namespace sluice {

SnapshotPublisher::SnapshotPublisher() : current_(Snapshot::empty()) {}

std::shared_ptr<const Snapshot> SnapshotPublisher::current() const {
  const std::lock_guard lock(mutex_);
  return current_;
}

void SnapshotPublisher::publish(std::shared_ptr<const Snapshot> snapshot) {
  const std::lock_guard lock(mutex_);
  current_.swap(snapshot);
  generation_.fetch_add(1, std::memory_order_release);
  // The old snapshot, now in `snapshot`, is freed when its last holder releases it.
}

void SnapshotPublisher::say_unmatched(Unmatched unmatched) {
  const std::lock_guard lock(mutex_);
  unmatched_.store(unmatched, std::memory_order_release);
  generation_.fetch_add(1, std::memory_order_release);
}

}  // namespace sluice

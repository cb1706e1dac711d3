#include "policy/repository.h"

namespace sluice {

PolicyBoard::PolicyBoard() : current_(Snapshot::empty()) {}

std::shared_ptr<const Snapshot> PolicyBoard::current() const {
  const std::lock_guard lock(mutex_);
  return current_;
}

void PolicyBoard::publish(std::shared_ptr<const Snapshot> snapshot) {
  const std::lock_guard lock(mutex_);
  current_.swap(snapshot);
  generation_.fetch_add(1, std::memory_order_release);
  // The old snapshot, now in `snapshot`, is freed by whoever lets go of it last.
}

void PolicyBoard::say_unmatched(Unmatched unmatched) {
  const std::lock_guard lock(mutex_);
  unmatched_.store(unmatched, std::memory_order_release);
  generation_.fetch_add(1, std::memory_order_release);
}

}  // namespace sluice

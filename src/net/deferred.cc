#include "net/deferred.h"

namespace sluice::net {

DeferredAnswers::Slot* DeferredAnswers::open(DeadlineWaiter& waiter, std::int64_t deadline_us) {
  assert(!full());
  Slot* slot = nullptr;
  if (free_.empty()) {
    slot = &slots_.emplace_back();
    slot->table = this;
    free_.reserve(slots_.size());
  } else {
    slot = free_.back();
    free_.pop_back();
  }
  slot->waiter = &waiter;
  slot->deadline_us = deadline_us;
  ++open_count_;
  return slot;
}

void DeferredAnswers::close(Slot* slot) {
  assert(slot->waiter);
  slot->waiter = nullptr;
  ++slot->generation;
  free_.push_back(slot);
  --open_count_;
}

DeadlineWaiter* DeferredAnswers::take(Slot* slot, std::uint64_t generation) {
  if (slot->generation != generation) return nullptr;
  DeadlineWaiter* waiter = slot->waiter;
  slot->table->close(slot);
  return waiter;
}

void DeferredAnswers::expire_until(std::int64_t now_us) {
  if (open_count_ == 0) return;
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    Slot& slot = slots_[i];
    if (!slot.waiter || slot.deadline_us == 0 || slot.deadline_us > now_us) continue;
    DeadlineWaiter* waiter = slot.waiter;
    close(&slot);
    waiter->expire();
  }
}

}  // namespace sluice::net

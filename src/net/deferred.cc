#include "net/deferred.h"

namespace sluice::net {

DeferredAnswers::Entry* DeferredAnswers::open(DeadlineWaiter& waiter, std::int64_t deadline_us) {
  assert(!full());
  Entry* entry = nullptr;
  if (free_.empty()) {
    entry = &entries_.emplace_back();
    entry->table = this;
    free_.reserve(entries_.size());
  } else {
    entry = free_.back();
    free_.pop_back();
  }
  entry->waiter = &waiter;
  entry->deadline_us = deadline_us;
  ++open_count_;
  return entry;
}

void DeferredAnswers::close(Entry* entry) {
  assert(entry->waiter);
  entry->waiter = nullptr;
  ++entry->generation;
  free_.push_back(entry);
  --open_count_;
}

DeadlineWaiter* DeferredAnswers::take(Entry* entry, std::uint64_t generation) {
  if (entry->generation != generation) return nullptr;
  DeadlineWaiter* waiter = entry->waiter;
  entry->table->close(entry);
  return waiter;
}

void DeferredAnswers::expire_until(std::int64_t now_us) {
  if (open_count_ == 0) return;
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    Entry& entry = entries_[i];
    if (!entry.waiter || entry.deadline_us == 0 || entry.deadline_us > now_us) continue;
    DeadlineWaiter* waiter = entry.waiter;
    close(&entry);
    waiter->expire();
  }
}

}  // namespace sluice::net

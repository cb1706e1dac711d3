#include <algorithm>
#include <ranges>

#include "store/redis/redis_store.h"

// Who may wait in a RedisStore's queue, and from when on the time is the server's.
namespace sluice {

// What gives back must not be lost, and whoever holds less than an equal part of the queue gets in: so the
// largest holders are shed first.
bool RedisStore::has_room(const StoreCall& call) const {
  if (queue_.size() < room() || call.refund_of_us != 0) return true;
  return queue_.size() < kRedisQueueMax && queue_.size_of(call.flow) < room() / (queue_.flows() + 1);
}

// Its turn has come: from here on the time is the server's.
void RedisStore::leave_queue(FairQueue& queue, std::int64_t now_us) {
  StoreCall& call = queue.front();
  queue.pop();
  if (call.deadline_us == 0) return;
  call.deadline_us += now_us - call.queued_at_us;
  if (call.caller_deadline_us != 0) call.deadline_us = std::min(call.deadline_us, call.caller_deadline_us);
  next_deadline_us_ = std::min(next_deadline_us_, call.deadline_us);
}

// They were sent, and go again, before the others of their flows.
void RedisStore::put_back(std::span<StoreCall* const> calls) {
  const std::int64_t now_us = clock_.now_us();
  for (StoreCall* call : std::views::reverse(calls)) {
    call->queued_at_us = now_us;
    queue_.push_front(*call);
  }
}

}  // namespace sluice

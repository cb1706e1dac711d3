#include <algorithm>
#include <ranges>

#include "store/redis/backend/redis_backend.h"

// Which calls may wait in a RedisBackend's queue, what its answers tell about others, and when their time
// starts to count.
namespace sluice {

// The failure rule is for those of whom nothing is known.
void RedisBackend::deny_unanswered(StoreCall& call) {
  // The answers of a server whose clock is wrong are worth nothing.
  if (left_out_ || denials_.empty() || !denials_.deny_unanswered(call, clock_.now_us(), decide_at_us()))
    return;
  ++stats_.denied_from_memory;
}

void RedisBackend::remember(const Command& command, std::int64_t server_us) {
  if (!command.batch->has_denied() && denials_.empty()) [[likely]]
    return;
  RememberedDenials::Heard heard{
      .asked_at_us = command.asked_at_us, .answered_at_us = clock_.now_us(), .decided_at_us = server_us};
  command.batch->for_each_counter(
      [&](const KeyHash& key, std::uint32_t slot_tag, ParamsId params, const CounterView& view) {
        if (!denials_.wants(key, view.has_denied())) return;
        heard.key = key;
        heard.slot_tag = slot_tag;
        heard.params = params;
        denials_.hear(heard, view.left(limits_.params(params)));
      });
}

// Whatever the outcome of the refunds.
void RedisBackend::note_refunds(const Batch& batch) {
  batch.for_each_refunded([&](const KeyHash& key) { options_.freed->note(key, clock_.now_us()); });
}

// A refund must not be lost, and a caller with less than an equal share of the queue gets in: so the largest
// holders are shed first. If a caller has its share already, a tenant of it gets in as long as that tenant
// holds little itself; but a caller that invents tenants gets no more than twice its share.
bool RedisBackend::has_room(const StoreCall& call) const {
  if (queue_.size() < room() && queue_.work() < kRedisQueueWorkMax) return true;
  if (call.refund_of_us != 0) return true;
  const FairQueue::Holding held = queue_.holding(call.flow);
  if (held.calls == 0) return true;  // there are at most as many of these as connections
  if (queue_.size() >= kRedisQueueMax) return false;
  const auto has_part = [&](std::uint64_t all, std::uint64_t of_caller, std::uint64_t of_tenant) {
    const std::uint64_t part = all / queue_.callers();
    return of_caller < part || (of_caller < 2 * part && of_tenant < part / (held.tenants + 1));
  };
  return has_part(room(), held.calls, held.of_tenant) &&
         has_part(kRedisQueueWorkMax, held.work, held.work_of_tenant);
}

// Its turn has come: from now on its deadline limits the server.
void RedisBackend::leave_queue(FairQueue& queue, std::uint32_t work, std::int64_t now_us) {
  StoreCall& call = queue.front();
  queue.pop(work);
  if (call.deadline_us != 0) call.deadline_us += now_us - call.queued_at_us;
  note_end_of(call);
}

// Makes expire_calls() look at it by its deadline.
void RedisBackend::note_end_of(const StoreCall& call) {
  for (const std::int64_t end_us : {call.deadline_us, call.caller_deadline_us})
    if (end_us != 0) next_deadline_us_ = std::min(next_deadline_us_, end_us);
}

// They were sent before, and are sent again before the others of their flows.
void RedisBackend::put_back(std::span<StoreCall* const> calls, FairQueue& queue) {
  const std::int64_t now_us = clock_.now_us();
  for (StoreCall* call : std::views::reverse(calls)) {
    call->queued_at_us = now_us;
    queue.push_front(*call);
  }
}

}  // namespace sluice

#include <algorithm>
#include <utility>

#include "store/redis/redis_store.h"
#include "store/redis/script/wire.h"

// What RedisStore does on a node of a cluster: commands on one slot each, and calls that belong to other
// nodes.
namespace sluice {

void RedisStore::send_flights(FairQueue& queue, bool asking) {
  while (!queue.empty() && may_send_more(queue)) {
    groups_.clear();
    const std::int64_t now_us = clock_.now_us();
    const std::uint64_t most = window_.work(now_us);
    while (!queue.empty()) {
      StoreCall& next = queue.front();
      const std::uint32_t work = work_.of(next);
      if ((!groups_.empty() && groups_.work() + work > most) || !groups_.add(group_of(next), next, work))
        break;
      leave_queue(queue, work, now_us);
    }
    // A key under other numbers does not fit into the batch of its slot, but may follow in another batch.
    groups_.for_each([&](std::span<StoreCall* const> calls) {
      for (std::size_t taken = 0; taken < calls.size();) {
        std::unique_ptr<Batch> batch = spare_batch();
        const bool guarded = goes_guarded(*calls[taken], now_us);
        std::uint64_t work = 0;
        for (; taken < calls.size() && goes_guarded(*calls[taken], now_us) == guarded &&
               batch->add(*calls[taken], limits_);
             ++taken)
          work += calls[taken]->work;
        add_to_flight(std::move(batch), work, {.asking = asking, .guarded = guarded}, now_us);
      }
    });
    send_flight();
  }
}

// Calls of equal groups may share a command. Groups below kSlots are slots.
std::uint64_t RedisStore::group_of(const StoreCall& call) const {
  constexpr std::uint64_t kAlone = std::uint64_t{1} << 63;
  if (!options_.cluster->has_slots()) return 0;
  const Charge& first = call.charges[0];
  const std::uint16_t slot = slot_of_tag(first.slot_tag);
  if (!options_.cluster->takes_single_keys_only(slot)) return slot;
  // Calls on the same single key can share a command.
  const bool has_one_key = call.charges.size() == 1 && !call.dedupe;
  return kAlone | (has_one_key ? first.key.low : reinterpret_cast<std::uintptr_t>(&call));
}

void RedisStore::append_asking(std::int64_t now_us) {
  redis::append_array(command_, 1);
  redis::append_bulk(command_, "ASKING");
  ++flight_commands_;
  in_flight_.push_back({.asked_at_us = now_us,
                        .patience_us = options_.operation_timeout_us,
                        .silence_us = options_.operation_timeout_us});
}

void RedisStore::start_all(std::span<StoreCall* const> calls, bool asking) {
  FairQueue& queue = asking ? asking_queue_ : queue_;
  ++held_back_;  // start all of them first, then send
  for (StoreCall* call : calls)
    if (!enqueue(*call, queue, false)) call->on_done();
  --held_back_;
  send_queue();
}

}  // namespace sluice

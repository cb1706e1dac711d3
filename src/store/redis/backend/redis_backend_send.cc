#include <algorithm>
#include <utility>

#include "store/redis/backend/redis_backend.h"
#include "store/redis/script/wire.h"

// How RedisBackend sends what is in its queues: as batches or, to a server with slots, as flights of a batch
// for each slot.
namespace sluice {

std::unique_ptr<Batch> RedisBackend::spare_batch() {
  if (spares_.empty()) return std::make_unique<Batch>(options_.merges);
  std::unique_ptr<Batch> batch = std::move(spares_.back());
  spares_.pop_back();
  batch->clear();
  return batch;
}

void RedisBackend::send_queue() {
  if (held_back_ > 0 || !connection_.may_send()) return;
  if (!owner_.has_slots()) return send_batches();
  send_flights(asking_queue_, true);
  send_flights(queue_, false);
}

void RedisBackend::send_batches() {
  while (!queue_.empty() && may_send_more(queue_)) {
    std::unique_ptr<Batch> batch = spare_batch();
    const std::int64_t now_us = clock_.now_us();
    const std::uint64_t most = window_.work(now_us);
    const bool guarded = goes_guarded(queue_.front(), now_us);
    std::uint64_t work = 0;
    while (!queue_.empty() && goes_guarded(queue_.front(), now_us) == guarded) {
      const std::uint32_t next = work_.of(queue_.front());
      const std::size_t entries = batch->entries();
      if ((entries > 0 && work + next > most) || !batch->add(queue_.front(), limits_)) break;
      if (batch->entries() > entries) work += next;  // otherwise it has joined an equal call
      leave_queue(queue_, next, now_us);
    }
    send(std::move(batch), work, {.guarded = guarded}, now_us);
  }
}

// Two batches keep a server busy. With expensive calls, less is sent: new calls wait for what is in flight.
bool RedisBackend::may_send_more(const FairQueue& queue) {
  if (in_flight_.flights() == 0) return true;
  return in_flight_.flights() < options_.batches_in_flight &&
         in_flight_.work() + work_.of(queue.front()) <= 2 * window_.work(clock_.now_us());
}

void RedisBackend::send(std::unique_ptr<Batch> batch, std::uint64_t work, How how, std::int64_t now_us) {
  add_to_flight(std::move(batch), work, how, now_us);
  send_flight();
}

void RedisBackend::add_to_flight(std::unique_ptr<Batch> batch, std::uint64_t work, How how,
                                 std::int64_t now_us) {
  if (how.asking) append_asking(now_us);
  append_command(*batch, how, false);
  ++flight_commands_;
  ++stats_.batches;
  stats_.checks += batch->size();
  stats_.keys += batch->keys();
  in_flight_.add({.batch = std::move(batch),
                  .asked_at_us = now_us,
                  .sent_at_us = wall_us(),
                  .slept_us = transport_.slept_us(),
                  .work = work,
                  .how = how});
  Command& command = in_flight_.newest();
  for (const StoreCall* call : command.batch->calls())
    if (call->deadline_us != 0 && call->refund_of_us == 0)
      command.patience_us = std::max(command.patience_us, call->deadline_us - now_us);
  note_owed(now_us + command.busy_us);
  // The server is busy with work that we know of: the deadlines limit what it takes beyond that.
  if (command.busy_us > 0)
    for (StoreCall* call : command.batch->calls())
      if (call->deadline_us != 0) call->deadline_us += command.busy_us;
}

void RedisBackend::send_flight() {
  in_flight_.end_flight();
  send_commands();
}

void RedisBackend::send_commands() {
  connection_.send(command_, std::exchange(flight_commands_, 0));
  command_.clear();
}

// EVAL loads the script and runs it in one step, so a SCRIPT FLUSH cannot come in between. If an EVAL is in
// flight already, the commands behind it will find the script.
void RedisBackend::resend_with_script(Command command) {
  ++stats_.scripts_reloaded;
  command.brings_script = !in_flight_.brings_script() && !command.how.guarded;
  command.sent_at_us = wall_us();
  if (command.how.asking) append_asking(clock_.now_us());
  append_command(*command.batch, command.how, command.brings_script || command.how.guarded);
  ++flight_commands_;
  in_flight_.add(std::move(command));
  note_owed(clock_.now_us());
  send_commands();
}

void RedisBackend::send_flights(FairQueue& queue, bool asking) {
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
std::uint64_t RedisBackend::group_of(const StoreCall& call) const {
  constexpr std::uint64_t kAlone = std::uint64_t{1} << 63;
  const Charge& first = call.charges[0];
  const std::uint16_t slot = slot_of_tag(first.slot_tag);
  if (!owner_.takes_single_keys_only(slot)) return slot;
  // Calls on the same single key can share a command.
  const bool has_one_key = call.charges.size() == 1 && !call.dedupe;
  return kAlone | (has_one_key ? first.key.low : reinterpret_cast<std::uintptr_t>(&call));
}

void RedisBackend::append_asking(std::int64_t now_us) {
  redis::append_array(command_, 1);
  redis::append_bulk(command_, "ASKING");
  ++flight_commands_;
  in_flight_.add({.asked_at_us = now_us});
}

void RedisBackend::start_all(std::span<StoreCall* const> calls, bool asking) {
  FairQueue& queue = asking ? asking_queue_ : queue_;
  ++held_back_;  // start all of them first, then send
  for (StoreCall* call : calls)
    if (!enqueue(*call, queue, false)) call->on_done();
  --held_back_;
  send_queue();
}

}  // namespace sluice

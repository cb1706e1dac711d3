#include <algorithm>
#include <unordered_set>

#include "store/redis/backend/redis_backend.h"
#include "store/redis/script/script.h"

// What RedisBackend does while its server has no memory left: counters that are there go on counting, what is
// denied is denied, and only what would be admitted on something new is passed over, or gets
// Verdict::kNoRoom. That is no failure of the server: the breaker does not hear of it.
//
// The server refuses a batch as a whole, without a word about who is to blame. From then on what charges goes
// with when_full.lua, which charges what is there and else names the keys that would have to be made, or to
// grow, again for the whole batch. Calls that want such a key are asked for once more, each in a batch of its
// own that writes nothing if it is denied: so what is refused then would be admitted. If all charges that it
// names may be passed over, the rest of the call is asked for, alone again.
namespace sluice {
namespace {

constexpr std::int64_t kFullForUs = 1'000'000;  // then it is tried again

bool charges(const StoreCall& call) {
  return std::ranges::any_of(call.charges, [](const Charge& charge) { return charge.cost > 0; });
}

}  // namespace

bool RedisBackend::goes_guarded(const StoreCall& call, std::int64_t now_us) const {
  return now_us < full_until_us_ && charges(call);
}

void RedisBackend::append_command(Batch& batch, How how, bool with_script) {
  const bool by_name = !with_script && (!how.guarded || !sha_when_full_.empty());
  const std::string_view name = how.guarded ? sha_when_full_ : connection_.script_sha();
  const std::string_view text = how.guarded ? redis_script_when_full() : options_.connection.script;
  batch.append_command(command_, by_name ? "EVALSHA" : "EVAL", by_name ? name : text, options_.key_prefix,
                       options_.heeds_moves, decide_at_us(), how.alone);
}

void RedisBackend::begin_full(std::int64_t now_us) {
  full_until_us_ = now_us + kFullForUs;
  if (!sha_when_full_.empty()) return;
  std::string command;
  redis::append_array(command, 3);
  redis::append_bulk(command, "SCRIPT");
  redis::append_bulk(command, "LOAD");
  redis::append_bulk(command, redis_script_when_full());
  ask(command, [this](std::span<const redis::RespValue> reply) {
    if (!reply.empty() && reply.front().type == redis::RespValue::Type::kBytes)
      sha_when_full_ = reply.front().bytes;
  });
}

// Of a call that wants a counter that is not there. If it is its only one, there is room if the limit as a
// whole has it.
bool RedisBackend::would_be_admitted(const StoreCall& call) const {
  const Charge& first = call.charges[0];
  return call.charges.size() == 1 && call.refund_of_us == 0 && !call.dedupe &&
         first.cost <= limits_.params(first.params).capacity;
}

// Whether the rest of a call is to be asked for, without the charges on the keys that were named. REQUIRES:
// the call is alone in its batch.
bool RedisBackend::passes_over(StoreCall& call, const Batch& batch, std::string_view named) {
  const std::vector<bool> is_named = batch.refused_keys(named);
  std::uint32_t passed_over = call.passed_over;
  bool counts_rest = false;
  for (std::size_t i = 0; i < call.charges.size(); ++i) {
    if (is_named[i + 1]) {
      if (!call.charges[i].passes_without_room) return false;
      passed_over |= 1u << i;
    }
    counts_rest |= call.charges[i].cost > 0 && (passed_over >> i & 1) == 0;
  }
  if (!counts_rest || call.refund_of_us != 0) return false;
  call.passed_over = passed_over;
  call.dedupe.reset();  // there is no room for a record either
  return true;
}

// What becomes of the calls of a batch that was refused.
struct RedisBackend::Parted {
  std::vector<StoreCall*> again, alone, no_room;
  std::size_t passing_over = 0;  // of `alone`: calls that do so for the first time
};

// `named`: what when_full.lua says; nothing: the server itself has refused. Nothing of the batch was charged.
void RedisBackend::on_full(Command& command, std::string_view named) {
  note_use();
  const std::int64_t now_us = clock_.now_us();
  std::vector<StoreCall*> waiting;
  Parted parted;
  if (!named.empty()) {
    part_full(command, named, parted);
  } else if (!command.how.guarded) {
    begin_full(now_us);
    command.batch->append_waiting(parted.again);
  } else {  // so it does not even let us go on counting
    command.batch->append_waiting(command.how.alone ? parted.no_room : parted.alone);
  }
  end_batch(command, true, waiting);
  for (std::vector<StoreCall*>* calls : {&parted.again, &parted.alone, &parted.no_room})
    leave_out_probe(*calls);
  // Whose counters are there goes in a batch of its own: among newcomers it would be refused again and again.
  if (named.empty())
    put_back(parted.again, command.how.asking ? asking_queue_ : queue_);
  else
    send_together(parted.again, command.how.asking);
  send_alone(parted.alone, command.how.asking);
  const std::size_t found_no_room = parted.no_room.size() + parted.passing_over;
  if (found_no_room > 0) health_.note_no_room(now_us);
  stats_.no_room += found_no_room;
  for (StoreCall* call : parted.no_room) call->verdict = Verdict::kNoRoom;
  complete(parted.no_room);
}

// `named`: the numbers of new counters; of logs that grow; of new request ids.
void RedisBackend::part_full(const Command& command, std::string_view named, Parted& parted) const {
  const std::size_t logs = std::min(named.find(';'), named.size());
  const std::size_t ids = std::min(named.find(';', logs + 1), named.size());
  std::vector<StoreCall*> grow, others, want_new, want_record, rest;
  command.batch->part_refused(named.substr(0, ids), grow, others);
  command.batch->part_refused(named.substr(0, logs), want_new, rest);
  command.batch->part_refused(named.substr(ids), want_record, rest);
  const std::unordered_set<StoreCall*> wants_new(want_new.begin(), want_new.end());
  const std::unordered_set<StoreCall*> wants_record(want_record.begin(), want_record.end());
  for (StoreCall* call : grow) {
    const bool is_admitted = command.how.alone || (wants_new.contains(call) && would_be_admitted(*call));
    const bool is_first = call->passed_over == 0;
    const bool asks_for_rest = command.how.alone && passes_over(*call, *command.batch, named.substr(0, ids));
    parted.passing_over += asks_for_rest && is_first;
    (is_admitted && !asks_for_rest ? parted.no_room : parted.alone).push_back(call);
  }
  for (StoreCall* call : others) {
    // There is no room for a record. To be charged for every try is better than for none. But a lease is its
    // record: nothing could be returned without it.
    const bool wants = wants_record.contains(call) && call->refund_of_us == 0;
    if (wants && call->is_lease) {
      parted.no_room.push_back(call);
      continue;
    }
    if (wants) call->dedupe.reset();
    (command.how.alone ? parted.alone : parted.again).push_back(call);
  }
}

// REQUIRES: they were in one batch.
void RedisBackend::send_together(std::span<StoreCall* const> calls, bool asking) {
  if (calls.empty()) return;
  std::unique_ptr<Batch> batch = spare_batch();
  std::uint64_t work = 0;
  for (StoreCall* call : calls) {
    batch->add(*call, limits_);
    work += work_.of(*call);
  }
  send(std::move(batch), work, {.asking = asking, .guarded = true}, clock_.now_us());
}

void RedisBackend::send_alone(std::span<StoreCall* const> calls, bool asking) {
  if (calls.empty()) return;
  const std::int64_t now_us = clock_.now_us();
  for (StoreCall* call : calls) {
    std::unique_ptr<Batch> batch = spare_batch();
    batch->add(*call, limits_);
    add_to_flight(std::move(batch), work_.of(*call), {.asking = asking, .guarded = true, .alone = true},
                  now_us);
  }
  send_flight();
}

}  // namespace sluice

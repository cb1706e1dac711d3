#include <algorithm>

#include "store/redis/redis_store.h"
#include "store/redis/script.h"

// What RedisStore does while its server has no memory left: counters that are there go on counting, and only
// what would have to be made anew gets Verdict::kNoRoom. That is no failure of the server: the breaker does
// not hear of it.
//
// The server refuses a batch as a whole, without a word about who is to blame. From then on what charges goes
// behind when_full.lua, which names the keys that are not there. Calls that want such a key are asked for
// once more, each in a batch of its own without that: what is denied, or needs to write nothing, is answered;
// what would be admitted is refused by the server.
namespace sluice {
namespace {

constexpr std::int64_t kFullForUs = 1'000'000;     // then it is tried again
constexpr std::int64_t kFullShownUs = 60'000'000;  // as the memory store does

bool charges(const StoreCall& call) {
  return std::ranges::any_of(call.charges, [](const Charge& charge) { return charge.cost > 0; });
}

}  // namespace

bool RedisStore::goes_guarded(const StoreCall& call, std::int64_t now_us) const {
  return now_us < full_until_us_ && charges(call);
}

void RedisStore::append_command(Batch& batch, bool guarded, bool with_script) {
  const bool by_name = !with_script && (!guarded || !sha_when_full_.empty());
  const std::string& name = guarded ? sha_when_full_ : connection_.script_sha();
  const std::string text = by_name   ? std::string()
                           : guarded ? std::string(when_full_script()) + options_.connection.script
                                     : options_.connection.script;
  batch.append_command(command_, by_name ? "EVALSHA" : "EVAL", by_name ? name : text, options_.key_prefix,
                       options_.heeds_moves, decide_at_us());
}

void RedisStore::begin_full(std::int64_t now_us) {
  full_until_us_ = now_us + kFullForUs;
  if (!sha_when_full_.empty()) return;
  std::string command;
  redis::append_array(command, 3);
  redis::append_bulk(command, "SCRIPT");
  redis::append_bulk(command, "LOAD");
  redis::append_bulk(command, std::string(when_full_script()) + options_.connection.script);
  ask(command, [this](std::span<const redis::RespValue> reply) {
    if (!reply.empty() && reply.front().type == redis::RespValue::Type::kBytes)
      sha_when_full_ = reply.front().bytes;
  });
}

// A call on one counter that is not there has room, if the limit as a whole has.
bool RedisStore::would_be_admitted(const StoreCall& call) const {
  const Charge& first = call.charges[0];
  const LimitParams& params = limits_.params(first.params);
  return call.charges.size() == 1 && call.refund_of_us == 0 && !call.dedupe && !options_.heeds_moves &&
         params.algorithm != Algorithm::kSlidingLog && first.cost <= params.capacity;
}

// `named`: what when_full.lua says. Nothing of the batch was charged.
void RedisStore::on_full(InFlight& command, std::string_view named) {
  note_use();
  const std::int64_t now_us = clock_.now_us();
  std::vector<StoreCall*> waiting, again, alone, no_room;
  if (command.alone) {
    command.batch->append_waiting(no_room);
  } else if (!command.guarded) {
    begin_full(now_us);
    command.batch->append_waiting(again);
  } else if (named.empty()) {  // so it does not even let us go on counting
    command.batch->append_waiting(alone);
  } else {
    part_full(*command.batch, named, again, alone, no_room);
  }
  end_batch(command, true, waiting);
  for (std::vector<StoreCall*>* calls : {&again, &alone, &no_room}) leave_out_probe(*calls);
  put_back(again, command.asking ? asking_queue_ : queue_);
  send_alone(alone, command.asking);
  if (!no_room.empty()) no_room_at_us_ = now_us;
  counters_.no_room += no_room.size();
  for (StoreCall* call : no_room) call->verdict = Verdict::kNoRoom;
  complete(no_room);
}

void RedisStore::part_full(const Batch& batch, std::string_view named, std::vector<StoreCall*>& again,
                           std::vector<StoreCall*>& alone, std::vector<StoreCall*>& no_room) const {
  const std::size_t middle = std::min(named.find(';'), named.size());
  std::vector<StoreCall*> refused, others, without_record, rest;
  batch.part_refused(named.substr(0, middle), refused, others);
  batch.part_refused(named.substr(middle), without_record, rest);
  for (StoreCall* call : refused) (would_be_admitted(*call) ? no_room : alone).push_back(call);
  for (StoreCall* call : others) {
    const bool has_no_record = std::ranges::find(without_record, call) != without_record.end();
    if (has_no_record && call->refund_of_us != 0) {
      alone.push_back(call);  // without a record nothing is given back
      continue;
    }
    // There is no room for a record. To be charged for every try is better than for none.
    if (has_no_record) call->dedupe.reset();
    again.push_back(call);
  }
}

void RedisStore::send_alone(std::span<StoreCall* const> calls, bool asking) {
  if (calls.empty()) return;
  const std::int64_t now_us = clock_.now_us();
  for (StoreCall* call : calls) {
    std::unique_ptr<Batch> batch = spare_batch();
    batch->add(*call, limits_);
    add_to_flight(std::move(batch), work_.of(*call), {.asking = asking, .alone = true}, now_us);
  }
  send_flight();
}

bool RedisStore::is_full(std::int64_t now_us) const {
  return no_room_at_us_ != 0 && now_us < no_room_at_us_ + kFullShownUs;
}

}  // namespace sluice

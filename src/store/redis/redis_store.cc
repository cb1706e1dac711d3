#include "store/redis/redis_store.h"

#include <algorithm>
#include <cassert>
#include <utility>

#include "store/redis/script/wire.h"

namespace sluice {
namespace {

constexpr std::int64_t kPatienceUsMax = 2'000'000;  // however patient the callers are
constexpr std::int64_t kLatenessWindowUs = 10'000'000;
constexpr std::size_t kQuestionsInFlightMax = 4 * kLimitsPerCheckMax;

// Errors of a healthy node of a cluster: the call belongs, or will belong, to another node.
bool sends_away(redis::ServerError kind) {
  using enum redis::ServerError;
  return kind == kMoved || kind == kAsk || kind == kTryAgain || kind == kSlotNotServed ||
         kind == kClusterDown || kind == kReadOnly || kind == kMasterDown;
}

}  // namespace

// A check of our own on a key of its own. It reads, steps and writes (or only looks, on a replica), so it
// fails whenever other checks would.
class RedisStore::Probe final : public StoreCall {
 public:
  Probe(ParamsTable& params, std::uint64_t key, bool only_looks) {
    const auto often = make_limit_params(Algorithm::kGcra, {1000, 1'000'000}, std::nullopt);
    charge_ = {.key = {0x736c75696365, key}, .params = params.intern(*often), .cost = only_looks ? 0 : 1};
    charges = {&charge_, 1};
    results = {&result_, 1};
  }
  void on_done() override {}
  void look_where(std::uint32_t slot_tag) { charge_.slot_tag = slot_tag; }

 private:
  Charge charge_;
  ChargeResult result_;
};

RedisStore::RedisStore(redis::Transport& transport, const Clock& clock, ParamsTable& params,
                       RedisStoreOptions options, const Random& random)
    : clock_(clock),
      transport_(transport),
      options_(std::move(options)),
      limits_(params),
      own_denials_(params, options_.freed, options_.remember_denials_us),
      denials_(options_.denials != nullptr ? *options_.denials : own_denials_),
      breaker_(options_.breaker, random, [this](auto, auto to) { stats_.count_breaker(to); }),
      connection_(transport, clock, options_.connection, random, *this),
      adviser_(connection_, options_.advise_every_us, options_.on_advice),
      work_(params),
      probe_(std::make_unique<Probe>(params, random(1u << 16), options_.only_looks)),
      probe_within_us_(options_.operation_timeout_us),
      next_deadline_us_(kNoDeadline),
      late_(kLatenessWindowUs),
      shed_(kLatenessWindowUs) {}

RedisStore::~RedisStore() = default;

bool RedisStore::start(StoreCall& call) {
  call.sent_again = false;
  if (!denials_.empty() && is_remembered(call)) return true;
  if (!enqueue(call, queue_, true)) return true;
  send_queue();
  return false;
}

// False: the call is answered already.
bool RedisStore::enqueue(StoreCall& call, FairQueue& queue, bool is_new) {
  call.forget_answer();
  if (!breaker_.closed() || left_out_) {
    ++stats_.turned_away;
    probe_->look_where(call.charges[0].slot_tag);
    deny_unanswered(call);
    return false;
  }
  if (is_new && !has_room(call)) {
    if (!connection_.ready()) {
      ++stats_.queue_full;
      deny_unanswered(call);
      return false;
    }
    call.verdict = Verdict::kShed;
    ++stats_.shed_queue_full;
    shed_.add(1, 1, clock_.now_us());
    return false;
  }
  if (options_.cluster != nullptr && call.dedupe) call.dedupe->slot_tag = call.charges[0].slot_tag;
  note_end_of(call);
  call.queued_at_us = clock_.now_us();
  call.work = work_.of(call);
  // A check that comes after this refund must not be denied because of the state before it.
  if (call.refund_of_us != 0)
    for (const Charge& charge : call.charges) options_.freed->note(charge.key, call.queued_at_us);
  queue.push(call);
  return true;
}

std::unique_ptr<Batch> RedisStore::spare_batch() {
  if (spares_.empty()) return std::make_unique<Batch>();
  std::unique_ptr<Batch> batch = std::move(spares_.back());
  spares_.pop_back();
  batch->clear();
  return batch;
}

void RedisStore::send_queue() {
  if (held_back_ > 0 || !connection_.may_send()) return;
  if (options_.cluster != nullptr) {
    send_flights(asking_queue_, true);
    return send_flights(queue_, false);
  }
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
bool RedisStore::may_send_more(const FairQueue& queue) {
  if (flights_ == 0) return true;
  return flights_ < options_.batches_in_flight &&
         work_under_way_ + work_.of(queue.front()) <= 2 * window_.work(clock_.now_us());
}

// After how long a batch without a reply counts as a failure: when no caller waits for it any more, within
// reason.
std::int64_t RedisStore::patience_us(Batch& batch, std::int64_t now_us) const {
  std::int64_t last_us = now_us;
  for (const StoreCall* call : batch.calls()) last_us = std::max(last_us, call->deadline_us);
  return std::max(options_.operation_timeout_us, std::min(last_us - now_us, kPatienceUsMax));
}

void RedisStore::send(std::unique_ptr<Batch> batch, std::uint64_t work, How how, std::int64_t now_us) {
  add_to_flight(std::move(batch), work, how, now_us);
  send_flight();
}

void RedisStore::add_to_flight(std::unique_ptr<Batch> batch, std::uint64_t work, How how,
                               std::int64_t now_us) {
  work_under_way_ += work;
  if (how.asking) append_asking(now_us);
  append_command(*batch, how, false);
  ++flight_commands_;
  ++stats_.batches;
  stats_.checks += batch->size();
  stats_.keys += batch->keys();
  const std::int64_t patience = patience_us(*batch, now_us);
  in_flight_.push_back({.batch = std::move(batch),
                        .asked_at_us = now_us,
                        .patience_us = patience,
                        .silence_us = std::max(options_.operation_timeout_us, patience / 2),
                        .sent_at_us = wall_us(),
                        .slept_us = transport_.slept_us(),
                        .work = work,
                        .asking = how.asking,
                        .guarded = how.guarded,
                        .alone = how.alone,
                        .ends_flight = false});
}

void RedisStore::send_flight() {
  in_flight_.back().ends_flight = true;
  ++flights_;
  send_commands();
}

void RedisStore::send_commands() {
  connection_.send(command_, std::exchange(flight_commands_, 0));
  command_.clear();
}

std::int64_t RedisStore::decide_at_us() const {
  return options_.decide_by != nullptr ? options_.decide_by->now_us() : 0;
}

void RedisStore::send_probe(std::int64_t now_us) {
  std::unique_ptr<Batch> batch = spare_batch();
  probe_->deadline_us = breaker_.closed() ? 0 : now_us + probe_within_us_;
  if (probe_->deadline_us != 0) next_deadline_us_ = std::min(next_deadline_us_, probe_->deadline_us);
  batch->add(*probe_, limits_);
  send(std::move(batch), 1, {}, now_us);
}

void RedisStore::leave_out_probe(std::vector<StoreCall*>& calls) const {
  std::erase(calls, static_cast<StoreCall*>(probe_.get()));
}

// EVAL loads the script and runs it in one step, so a SCRIPT FLUSH cannot come in between. If an EVAL is in
// flight already, the commands behind it will find the script.
void RedisStore::resend_with_script(InFlight command) {
  ++stats_.scripts_reloaded;
  command.brings_script = scripts_on_way_ == 0 && !command.guarded;
  command.sent_at_us = wall_us();
  if (command.asking) append_asking(clock_.now_us());
  append_command(*command.batch, {.guarded = command.guarded, .alone = command.alone},
                 command.brings_script || command.guarded);
  ++flight_commands_;
  scripts_on_way_ += command.brings_script ? 1 : 0;
  in_flight_.push_back(std::move(command));
  send_commands();
}

bool RedisStore::ask(std::string_view command, OnReply on_reply, bool asking) {
  if (!connection_.ready() || questions_ >= kQuestionsInFlightMax) return false;
  const std::int64_t now_us = clock_.now_us();
  if (asking) append_asking(now_us);
  command_ += command;
  ++flight_commands_;
  ++questions_;
  in_flight_.push_back({.on_reply = std::move(on_reply),
                        .asked_at_us = now_us,
                        .patience_us = options_.operation_timeout_us,
                        .silence_us = options_.operation_timeout_us});
  send_commands();
  return true;
}

void RedisStore::answer(InFlight& command, std::span<const redis::RespValue> reply) {
  if (!command.on_reply) return;
  --questions_;
  std::exchange(command.on_reply, {})(reply);
}

void RedisStore::reset(std::span<const CounterName> counters, std::function<void(int)> done) {
  if (counters.empty()) return done(0);
  std::string command, name;
  redis::append_array(command, 1 + counters.size());
  redis::append_bulk(command, "UNLINK");
  for (const auto& [key, slot_tag] : counters) {
    name.clear();
    append_key(name, options_.key_prefix, slot_tag, key);
    redis::append_bulk(command, name);
  }
  const auto on_reply = [this, done, names = std::vector(counters.begin(), counters.end())](
                            std::span<const redis::RespValue> reply) {
    for (const CounterName& counter : names) options_.freed->note(counter.key, clock_.now_us());
    const bool counted = !reply.empty() && reply.front().type == redis::RespValue::Type::kInteger;
    done(counted ? static_cast<int>(reply.front().integer) : -1);
  };
  const bool sent = breaker_.closed() && ask(command, on_reply);
  if (!sent) done(-1);
}

void RedisStore::on_ready() {
  ++stats_.connections_made;
  connected_ = true;
  adviser_.on_ready();
  full_until_us_ = 0;
  sha_when_full_.clear();
  window_.reconnected();
  breaker_.hurry(clock_.now_us());
  in_doubt_ = !problem_.empty();
  // Their wait so far was the server's time.
  const auto begin_anew = [now_us = clock_.now_us()](StoreCall& call) {
    return call.queued_at_us = now_us, false;
  };
  queue_.remove_if(begin_anew);
  asking_queue_.remove_if(begin_anew);
  send_queue();
}

void RedisStore::on_reply(std::span<const redis::RespValue> reply) {
  assert(!in_flight_.empty());
  InFlight command = std::move(in_flight_.front());
  in_flight_.pop_front();
  if (std::exchange(command.brings_script, false)) --scripts_on_way_;
  if (reply.front().is_error()) {
    on_error(command, reply);
  } else if (command.batch) {
    const bool understood = command.batch->read_reply(reply, limits_);
    if (understood) note_answer(command, reply[1].integer);
    if (understood) remember(command, reply[1].integer);
    if (understood) work_.hear(*command.batch);
    finish(command, understood);
    if (!understood) connection_.drop("unexpected reply: it does not match the command");
  } else {
    answer(command, reply);
  }
  send_queue();
}

void RedisStore::on_error(InFlight& command, std::span<const redis::RespValue> reply) {
  const std::string error(reply.front().bytes);  // the reply may be gone once the connection is dropped
  const redis::ServerErrorAdvice& advice = redis::explain_server_error(error);
  ++stats_.errors[static_cast<std::size_t>(advice.kind)];
  if (advice.kind == redis::ServerError::kNoScript && command.batch)
    return resend_with_script(std::move(command));
  if (advice.kind == redis::ServerError::kTenantMoving && command.batch)
    return refuse_moving(command, std::string_view(error).substr(advice.code.size()));
  if (advice.kind == redis::ServerError::kOutOfMemory && command.batch) return on_full(command, {});
  if (advice.kind == redis::ServerError::kStoreFull && command.batch)
    return on_full(command, std::string_view(error).substr(advice.code.size()));
  const bool about_checks = command.batch != nullptr;
  bool failed = true;
  // Several slots in one command are our mistake, unless we took the server for one without slots.
  const bool has_slots_after_all = advice.kind == redis::ServerError::kCrossSlot &&
                                   options_.cluster != nullptr && !options_.cluster->has_slots();
  if (options_.cluster != nullptr && (sends_away(advice.kind) || has_slots_after_all)) {
    failed = about_checks && hand_over(command, advice.kind, error);
    if (!about_checks) answer(command, reply);
  } else {
    about_checks ? finish(command, false) : answer(command, reply);
  }
  // A user who may not send this command may still be allowed to check.
  const bool is_theirs = about_checks || advice.kind != redis::ServerError::kNotAllowed;
  if (advice.new_connection && is_theirs) connection_.drop_refused(advice.meaning);
  // A server that is not in a cluster does not know cluster commands; that is no problem.
  if (!about_checks && options_.cluster != nullptr && !options_.cluster->has_slots()) return;
  if (failed) note_problem(advice.meaning, error);  // a better reason than "connection lost"
}

// The end of a batch: its calls are answered, and its place is free.
void RedisStore::finish(InFlight& command, bool answered) {
  std::vector<StoreCall*> done;
  end_batch(command, answered, done);
  if (!breaker_.closed()) fail_queue(done);
  complete(done);
}

// Frees the batch and its place. `waiting` gets the calls that still wait.
void RedisStore::end_batch(InFlight& command, bool answered, std::vector<StoreCall*>& waiting) {
  if (command.ends_flight) --flights_;
  work_under_way_ -= command.work;
  stats_.contradictions += command.batch->contradictions();
  note_refunds(*command.batch);
  const std::int64_t now_us = clock_.now_us();
  const std::size_t calls = command.batch->size();
  bound_.note_answers(calls, !queue_.empty(), now_us);
  if (command.ends_flight && answered)
    window_.note_answer(command.asked_at_us, transport_.slept_us() - command.slept_us, !queue_.empty(),
                        now_us);
  // Calls that reached their deadlines were recorded then, if the server is to blame.
  if (!command.late && (!answered || command.missed < calls))
    breaker_.record(answered, answered ? calls - command.missed : calls, now_us);
  if (breaker_.closed()) probe_within_us_ = options_.operation_timeout_us;
  command.batch->append_waiting(waiting);
  spares_.push_back(std::move(command.batch));
}

// Hands the calls over to the cluster, except our own probe. Returns whether the node has failed.
bool RedisStore::hand_over(InFlight& command, redis::ServerError kind, std::string_view error) {
  using enum redis::ServerError;
  const bool node_failed = kind == kClusterDown || kind == kReadOnly || kind == kMasterDown;
  if (!node_failed) note_use();
  std::vector<StoreCall*> calls, failed;
  end_batch(command, !node_failed, calls);
  leave_out_probe(calls);
  if (!breaker_.closed()) fail_queue(failed);
  options_.cluster->on_sent_away(*this, kind, error, calls);
  complete(failed);
  return node_failed;
}

void RedisStore::on_lost(std::string_view why) {
  ++stats_.connections_lost;
  denials_.doubt(clock_.now_us());
  note_problem("not connected", why);
  std::deque<InFlight> commands = std::exchange(in_flight_, {});
  std::uint64_t checks = 1;
  std::vector<StoreCall*> waiting, lost;
  for (InFlight& command : commands) {
    if (!command.batch) continue;
    command.batch->append_waiting(waiting);
    note_refunds(*command.batch);
    checks += command.batch->size();
    spares_.push_back(std::move(command.batch));
  }
  flights_ = scripts_on_way_ = 0;
  work_under_way_ = 0;
  // With a request id a second try cannot charge twice; other calls may have been charged already. Parts of a
  // cluster's split calls are retried until their deadline: one part without an answer makes the others take
  // back their charges.
  const bool is_part = options_.cluster != nullptr;
  const auto repeatable = std::ranges::stable_partition(
      waiting, [is_part](const StoreCall* call) { return !call->dedupe || (call->sent_again && !is_part); });
  lost.assign(waiting.begin(), repeatable.begin());
  for (StoreCall* call : repeatable) call->sent_again = true;
  put_back({repeatable.begin(), repeatable.end()}, queue_);
  stats_.lost += lost.size();
  stats_.sent_again += repeatable.size();
  // A server that closes an idle connection has failed no call.
  const bool was_connected = std::exchange(connected_, false);
  if (!commands.empty() || !was_connected) breaker_.record(false, checks, clock_.now_us());
  if (connection_.refused()) breaker_.trip(clock_.now_us());
  if (!breaker_.closed()) fail_queue(lost);
  for (InFlight& command : commands) answer(command, {});
  complete(lost);
}

void RedisStore::tick(std::int64_t now_us) {
  connection_.tick(now_us);
  adviser_.tick(now_us);
  denials_.tick(now_us);
  expire_calls(now_us);
  expire_commands(now_us);
  if (connection_.ready() && (breaker_.take_probe(now_us) || must_look() || must_look_at_clock(now_us)))
    send_probe(now_us);
  tell_news(now_us);
  send_queue();
}

// Callers may start the next call from on_done(): those wait until all are answered, so that they share a
// batch.
void RedisStore::complete(std::span<StoreCall* const> calls) {
  ++held_back_;
  for (StoreCall* call : calls) {
    if (call->verdict == Verdict::kNoAnswer && !call->moving) deny_unanswered(*call);
    call->on_done();
  }
  --held_back_;
}

}  // namespace sluice

#include "store/redis/backend/redis_backend.h"

#include <algorithm>
#include <cassert>
#include <utility>

namespace sluice {
namespace {

constexpr std::int64_t kClockLookEveryUs = 1'000'000;
constexpr std::size_t kQuestionsInFlightMax = 4 * kLimitsPerCheckMax;

}  // namespace

bool belongs_elsewhere(redis::ServerError kind) {
  using enum redis::ServerError;
  return kind == kMoved || kind == kAsk || kind == kTryAgain || kind == kSlotNotServed ||
         kind == kClusterDown || kind == kReadOnly || kind == kMasterDown;
}

// A check of our own on a key of its own. It reads, steps and writes (or only looks, on a replica), so it
// fails whenever other checks would.
class RedisBackend::Probe final : public StoreCall {
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

RedisBackend::RedisBackend(const Parts& parts, RedisBackendOptions options, const Random& random)
    : clock_(parts.clock),
      transport_(parts.transport),
      owner_(parts.owner),
      options_(std::move(options)),
      limits_(parts.params),
      denials_(parts.denials),
      breaker_(options_.breaker, random, [this](auto, auto to) { stats_.count_breaker(to); }),
      slowness_(options_.slow_us, options_.breaker.probe_interval_us / 2),
      connection_(parts.transport, parts.clock, options_.connection, random, *this),
      adviser_(connection_, options_.advise_every_us, options_.on_advice),
      work_(parts.params),
      probe_(std::make_unique<Probe>(parts.params, random(1u << 16), options_.only_looks)),
      lost_at_us_(parts.clock.now_us()),
      next_deadline_us_(kNoDeadline) {}

RedisBackend::~RedisBackend() = default;

bool RedisBackend::start(StoreCall& call) {
  call.sent_again = false;
  if (!enqueue(call, queue_, true)) return true;
  send_queue();
  return false;
}

// False: the call is answered already.
bool RedisBackend::enqueue(StoreCall& call, FairQueue& queue, bool is_new) {
  call.forget_answer();
  call.passed_over = 0;
  const std::int64_t now_us = clock_.now_us();
  if (call.deadline_us != 0 && call.refund_of_us == 0)
    longest_deadline_.note(call.deadline_us - now_us, now_us);
  if (!breaker_.closed() || left_out_ || is_too_slow_for(call, now_us)) {
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
    health_.note_shed(1, now_us);
    return false;
  }
  note_end_of(call);
  call.queued_at_us = now_us;
  call.work = work_.of(call);
  // A check that comes after this refund must not be denied because of the state before it.
  if (call.refund_of_us != 0)
    for (const Charge& charge : call.charges)
      if (charge.cost > 0) options_.freed->note(charge.key, call.queued_at_us);
  queue.push(call);
  return true;
}

void RedisBackend::send_probe(std::int64_t now_us) {
  std::unique_ptr<Batch> batch = spare_batch();
  batch->add(*probe_, limits_);
  send(std::move(batch), 1, {}, now_us);
}

void RedisBackend::leave_out_probe(std::vector<StoreCall*>& calls) const {
  std::erase(calls, static_cast<StoreCall*>(probe_.get()));
}

bool RedisBackend::ask(std::string_view command, OnReply on_reply, bool asking) {
  if (!connection_.ready() || in_flight_.questions() >= kQuestionsInFlightMax) return false;
  const std::int64_t now_us = clock_.now_us();
  if (asking) append_asking(now_us);
  command_ += command;
  ++flight_commands_;
  in_flight_.add({.on_reply = std::move(on_reply), .asked_at_us = now_us});
  note_owed(now_us);
  send_commands();
  return true;
}

void RedisBackend::on_ready() {
  ++stats_.connections_made;
  connected_ = true;
  in_flight_.go_to(options_.work_in_flight->at(connection_.where()));
  adviser_.on_ready();
  full_until_us_ = 0;
  sha_when_full_.clear();
  window_.reconnected();
  breaker_.hurry(clock_.now_us());
  health_.note_connected();
  // Their wait so far was the server's time.
  const auto begin_anew = [now_us = clock_.now_us()](StoreCall& call) {
    return call.queued_at_us = now_us, false;
  };
  queue_.remove_if(begin_anew);
  asking_queue_.remove_if(begin_anew);
  send_queue();
}

void RedisBackend::on_reply(std::span<const redis::RespValue> reply) {
  assert(!in_flight_.empty());
  Command command = in_flight_.take_oldest();
  command.brings_script = false;
  unanswered_since_us_ = in_flight_.empty() ? 0 : clock_.now_us();
  if (reply.front().is_error()) {
    on_error(command, reply);
  } else if (command.batch) {
    const bool understood = command.batch->read_reply(reply, limits_);
    if (understood) note_answer(command, reply[1].integer);
    if (understood) remember(command, reply[1].integer);
    if (understood) work_.hear(*command.batch);
    finish(command, understood);
    if (!understood) connection_.drop("unexpected reply: it does not match the command");
  } else if (command.on_reply) {
    command.on_reply(reply);
  }
  send_queue();
}

void RedisBackend::on_error(Command& command, std::span<const redis::RespValue> reply) {
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
  const bool about_checks = command.batch != nullptr, is_sent_away = owner_.takes_back(advice.kind);
  bool failed = !is_sent_away;
  if (!about_checks) {
    if (failed) health_.note_problem(advice.meaning, error);
    if (command.on_reply) command.on_reply(reply);
  } else if (is_sent_away) {
    failed = hand_over(command, advice.kind, error);
  } else {
    finish(command, false);
  }
  // A user who may not send this command may still be allowed to check.
  const bool is_theirs = about_checks || advice.kind != redis::ServerError::kNotAllowed;
  const bool is_dropped = advice.new_connection && is_theirs;
  if (is_dropped) connection_.drop_refused(advice.meaning);
  if (failed && (about_checks || is_dropped))
    health_.note_problem(advice.meaning, error);  // a better reason than "connection lost"
}

// The end of a batch: its calls are answered, and its place is free.
void RedisBackend::finish(Command& command, bool answered) {
  std::vector<StoreCall*> done;
  end_batch(command, answered, done);
  if (!breaker_.closed()) fail_queue(done);
  complete(done);
}

// Frees the batch and its place. `waiting` gets the calls that still wait.
void RedisBackend::end_batch(Command& command, bool answered, std::vector<StoreCall*>& waiting) {
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
  command.batch->append_waiting(waiting);
  spares_.push_back(std::move(command.batch));
}

// Hands the calls over to the owner, except our own probe. Returns whether the server has failed.
bool RedisBackend::hand_over(Command& command, redis::ServerError kind, std::string_view error) {
  using enum redis::ServerError;
  const bool server_failed = kind == kClusterDown || kind == kReadOnly || kind == kMasterDown;
  if (!server_failed) note_use();
  std::vector<StoreCall*> calls, failed;
  end_batch(command, !server_failed, calls);
  leave_out_probe(calls);
  if (!breaker_.closed()) fail_queue(failed);
  owner_.on_sent_away(*this, kind, error, calls);
  complete(failed);
  return server_failed;
}

void RedisBackend::on_lost(std::string_view why) {
  ++stats_.connections_lost;
  denials_.doubt(clock_.now_us());
  health_.note_problem("not connected", why);
  std::deque<Command> commands = in_flight_.take_all();
  std::uint64_t checks = 1;
  std::vector<StoreCall*> waiting, lost;
  for (Command& command : commands) {
    if (!command.batch) continue;
    command.batch->append_waiting(waiting);
    note_refunds(*command.batch);
    checks += command.batch->size();
    spares_.push_back(std::move(command.batch));
  }
  // With a request id a second try cannot charge twice; other calls may have been charged already.
  const auto repeatable = std::ranges::stable_partition(
      waiting, [this](const StoreCall* call) { return !call->dedupe || !owner_.may_send_again(*call); });
  lost.assign(waiting.begin(), repeatable.begin());
  for (StoreCall* call : repeatable) call->sent_again = true;
  put_back({repeatable.begin(), repeatable.end()}, queue_);
  stats_.lost += lost.size();
  stats_.sent_again += repeatable.size();
  // A server that closes an idle connection has failed no call.
  const bool was_connected = std::exchange(connected_, false);
  if (was_connected) lost_at_us_ = clock_.now_us();
  const bool is_failure = !commands.empty() || !was_connected;
  if (is_failure && !(is_early_drop_ && breaker_.closed())) breaker_.record(false, checks, clock_.now_us());
  if (connection_.refused()) breaker_.trip(clock_.now_us());
  if (!breaker_.closed()) fail_queue(lost);
  for (Command& command : commands)
    if (command.on_reply) command.on_reply({});
  complete(lost);
}

void RedisBackend::tick(std::int64_t now_us) {
  connection_.tick(now_us);
  adviser_.tick(now_us);
  denials_.tick(now_us);
  expire_calls(now_us);
  expire_commands(now_us);
  if (connection_.ready() && (breaker_.take_probe(now_us) || must_look(now_us) || must_look_at_clock(now_us)))
    send_probe(now_us);
  report_news(now_us);
  send_queue();
}

// Callers may start the next call from on_done(): those wait until all are answered, so that they share a
// batch.
void RedisBackend::complete(std::span<StoreCall* const> calls) {
  ++held_back_;
  for (StoreCall* call : calls) {
    if (call->verdict == Verdict::kNoAnswer && !call->moving) deny_unanswered(*call);
    call->on_done();
  }
  --held_back_;
}

bool RedisBackend::must_look(std::int64_t now_us) {
  if (!breaker_.closed() || !in_flight_.empty()) return false;
  if (!health_.in_doubt()) return slowness_.take_probe(now_us);
  health_.note_probe();
  return true;
}

// No checks go to a server that is left out, so nothing else tells its time.
bool RedisBackend::must_look_at_clock(std::int64_t now_us) {
  if (!left_out_ || now_us < clock_look_at_us_) return false;
  clock_look_at_us_ = now_us + kClockLookEveryUs;
  return true;
}

void RedisBackend::note_use() {
  health_.note_works();
  connection_.note_use();
}

void RedisBackend::note_answer(Command& command, std::int64_t server_us) {
  // While our loop slept, it waited for the server; the rest of the time may be our own slowness.
  const std::int64_t slept_us = transport_.slept_us() - command.slept_us - command.busy_us;
  slowness_.note_answer(std::max(command.missed_us, slept_us), command.missed_us > 0, clock_.now_us());
  // An answer after all deadlines does not prove that the server works as it should.
  const bool in_time = command.missed < command.batch->size() && slowness_.slower_than_us() == 0;
  in_time ? note_use() : connection_.note_use();
  if (options_.decide_by == nullptr) adviser_.note_clock(command.sent_at_us, wall_us(), server_us);
  health_.note_answers(command.batch->size(), command.missed, clock_.now_us());
}

// Nothing of the batch was charged. Calls of moving tenants are refused, the others are sent again.
void RedisBackend::refuse_moving(Command& command, std::string_view key_numbers) {
  note_use();
  health_.note_moving(clock_.now_us());
  std::vector<StoreCall*> all, refused, others;
  command.batch->part_refused(key_numbers, refused, others);
  end_batch(command, true, all);
  for (StoreCall* call : refused) call->moving = true;
  put_back(others, queue_);
  complete(refused);
}

std::int64_t RedisBackend::wall_us() const {
  return (options_.wall_clock != nullptr ? *options_.wall_clock : clock_).now_us();
}

std::int64_t RedisBackend::decide_at_us() const {
  return options_.decide_by != nullptr ? options_.decide_by->now_us() : 0;
}

BackendHealth::Facts RedisBackend::facts() const {
  return {.fails = !breaker_.closed() || slowness_.slower_than_us() != 0,
          .connected = connection_.ready(),
          .left_out = left_out_};
}

void RedisBackend::report_news(std::int64_t now_us) {
  if (!options_.on_news) return;
  health_.report_news(facts(), now_us, [this](LogEvent event, const std::string& sentence) {
    const std::string where = connection_.where();
    options_.on_news(event, "Redis at " + where + " " + sentence, {{"server", where}});
  });
}

StoreServer RedisBackend::describe() const {
  const auto clock = clock_delta();
  return {.name = options_.name.empty() ? connection_.where() : options_.name,
          .ahead_us = clock ? std::optional(clock->ahead_us) : std::nullopt,
          .left_out = left_out_,
          .round_trip_us = round_trip_us(),
          .is_late = is_late(),
          .is_full = health_.is_full(clock_.now_us())};
}

Store::Health RedisBackend::health() const {
  Store::Health health;
  health.connected = connection_.ready() && !facts().fails && !left_out_;
  const auto add = [&](const std::string& sentence) {
    health.problems.push_back("Redis at " + connection_.where() + ": " + sentence);
  };
  std::ranges::for_each(health_.problems(facts(), clock_.now_us()), add);
  if (const std::string unsure = connection_.address_problem(); !unsure.empty()) add(unsure);
  std::ranges::for_each(adviser_.advice(), add);
  return health;
}

}  // namespace sluice

#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/limits.h"
#include "base/log/log_event.h"
#include "redis/connection/breaker.h"
#include "redis/connection/connection.h"
#include "redis/inspect/adviser.h"
#include "redis/protocol/server_error.h"
#include "store/redis/backend/backend_health.h"
#include "store/redis/backend/flights.h"
#include "store/redis/backend/redis_stats.h"
#include "store/redis/backend/slot_groups.h"
#include "store/redis/backend/slowness.h"
#include "store/redis/queue/fair_queue.h"
#include "store/redis/queue/queue_bound.h"
#include "store/redis/queue/redis_work.h"
#include "store/redis/queue/remembered_denials.h"
#include "store/redis/queue/send_window.h"
#include "store/redis/script/batch.h"
#include "store/store.h"

namespace sluice {

class RedisBackend;

// Whether an error means that a call belongs, or will belong, to another node of the Cluster.
bool belongs_elsewhere(redis::ServerError kind);

// What a RedisBackend is a part of: a store on a single server, a cluster, or the part that reads from a
// replica.
class RedisBackendOwner {
 public:
  // Whether a command may touch only one slot. Otherwise a batch takes all calls.
  virtual bool has_slots() const = 0;

  // Whether a command on this slot may have only one key: true while the slot's keys are on two nodes.
  virtual bool takes_single_keys_only(std::uint16_t slot) const = 0;

  // Whether the owner takes back calls that the server has refused with this error. Otherwise they get no
  // answer.
  virtual bool takes_back(redis::ServerError kind) const = 0;

  // The server has redirected or refused these calls with an error, and charged nothing. They belong to the
  // owner now, which may start() them anywhere; `reply` is valid until the owner calls `from`.
  // REQUIRES: takes_back(kind)
  virtual void on_sent_away(RedisBackend& from, redis::ServerError kind, std::string_view reply,
                            std::span<StoreCall* const> calls) = 0;

  // Whether a call with a request id, which was in flight on a lost connection, is sent once more.
  virtual bool may_send_again(const StoreCall& call) const = 0;

 protected:
  ~RedisBackendOwner() = default;
};

struct RedisBackendOptions {
  std::string name;                     // of the server, in reports; empty: its address
  redis::ConnectionOptions connection;  // its script: redis_script(), see store/redis/script/script.h
  redis::BreakerOptions breaker;
  std::string key_prefix = "rl:";
  std::size_t batches_in_flight = 2;
  std::size_t queue_max = kRedisQueueMax;
  std::int64_t operation_timeout_us = 50'000;  // for the server's reply, if no caller is more patient
  std::int64_t slow_us = 10'000;               // an answer within this time is never called slow
  // Gets a sentence for the log: what is wrong and why, or that it is over. At most a few per minute.
  EventLog on_news;
  const Clock* decide_by = nullptr;  // in tests: instead of the server's own clock
  // How often the server is asked about itself, for advice(); 0: never.
  std::int64_t advise_every_us = 0;
  redis::Adviser::OnChange on_advice;
  const Clock* wall_clock = nullptr;  // what the server's clock is compared with; null: Parts::clock
  // Whether tenants may move between this server and others: then a tenant that is moving is refused here
  // (StoreCall::moving). Not in a cluster. See tenant_move/tenant_move.h.
  bool heeds_moves = false;
  bool only_looks = false;  // a replica, read-only; even our probe does not charge
  // Counters that any loop of the process has given room to, so that no loop remembers an outdated denial.
  std::shared_ptr<FreedCounters> freed = std::make_shared<FreedCounters>();
  // What all loops of the process have sent to this server and others.
  std::shared_ptr<WorkInFlight> work_in_flight = std::make_shared<WorkInFlight>();
  std::int64_t remember_denials_us = RememberedDenials::kForUs;  // 0: every check goes to the server
  bool merges = true;  // equal calls of a batch; false only to measure what that saves
};

// One Redis or Valkey server that holds counters: its connection, the queue of calls for it, and the batches
// in flight. Belongs to one event loop's thread. A store is made of one of these, or of several.
//
// Batches. It batches by itself: while a batch is in flight, calls queue; when its reply arrives, the queue
// is sent as the next batch. An idle server gets a call at once, a busy one gets large batches; there is no
// timer to tune.
//
// Queue. It is bounded by what the server can answer (QueueBound); a call beyond that is kShed. Callers and
// tenants take turns (FairQueue), and a caller with less than its share of the queue always gets in. How much
// is sent at once, and how much is in flight, is bounded by what the server answers in time, given all its
// other clients (SendWindow). All of these are measured by the work that calls cause on the server
// (RedisWork), so that nobody waits long behind a few expensive calls. Which checks need not be sent is
// recorded in RememberedDenials; the owner looks there first.
//
// Deadlines. A deadline limits the server's time: it runs from when a call is sent, and also while there is
// no connection or the server is silent. The time that expensive commands before it are known to take is
// added (WorkInFlight). A call that waits behind others on a server that keeps answering just waits.
//
// Failures. A call without an answer may have been charged, unless it never left the queue. Replies come in
// order, so a late one is recognised as such and only frees its place in the pipeline. The breaker stops
// sending to a server that keeps failing or refuses us. Then calls are answered kNoAnswer at once, and a
// probe on its own key finds out when the server is back. Missed deadlines do not open the breaker, since a
// server may be quick enough for one caller and too slow for another: calls with less time than the server is
// known to take (Slowness) are answered kNoAnswer at once, all others are sent.
//
// Silence. A command without a reply is late after the time of the most patient call of the last minutes
// (LongestDeadline), but at least the operation timeout; the breaker counts it. A silent server gets a new
// connection after half the time of the most patient call in flight, but at least the operation timeout, or
// longer if the server is known to be far away. Nobody with more time has to wait for that connection, so
// the breaker counts this only if the server has been silent, on one connection or several, for half of what
// the most patient call of the last minutes had. A call that was in flight on a lost connection is sent once
// more, with the time it has left, if it has a request id and so cannot be charged twice; other calls are
// answered kNoAnswer. The owner says how often (RedisBackendOwner::may_send_again()).
//
// A full server. A server that has no memory left still charges the counters that it has. Calls that would be
// admitted, and for which the server would have to store something new, pass it over if they may, or are
// answered kNoRoom; denials stay denials. The breaker stays closed.
//
// Slots. If the owner has slots, a command may touch only one. Then what is sent at once is not a batch but a
// flight: one batch for each slot in the queue, written together.
class RedisBackend final : private redis::ConnectionEvents {
 public:
  using Random = std::function<std::uint64_t(std::uint64_t below)>;
  using OnReply = Flights::OnReply;

  // All outlive the backend.
  struct Parts {
    redis::Transport& transport;
    const Clock& clock;
    ParamsTable& params;
    RedisBackendOwner& owner;
    RememberedDenials& denials;  // the backend adds to them; shared by the backends of a cluster
  };
  RedisBackend(const Parts& parts, RedisBackendOptions options, const Random& random);
  ~RedisBackend();

  // The same as the functions of Store.
  bool start(StoreCall& call);
  void begin_burst() { ++held_back_; }
  void end_burst() {
    --held_back_;
    send_queue();
  }
  void tick(std::int64_t now_us);
  std::int64_t next_due_us() const { return next_deadline_us_; }
  bool busy() const { return queue_.size() >= room() / 2 || queue_.work() >= kRedisQueueWorkMax / 2; }
  Store::Health health() const;

  const RedisStats& stats() const { return stats_; }
  redis::Breaker::State breaker_state() const { return breaker_.state(); }
  bool is_failing() const { return !breaker_.closed(); }

  // What should be changed about the server although it works; also part of health().problems.
  const std::vector<std::string>& advice() const { return adviser_.advice(); }
  // How far the server's clock is ahead of ours (negative: behind); empty before the first reply.
  std::optional<redis::ClockDelta::Estimate> clock_delta() const { return adviser_.clock().estimate(); }
  // The fastest round trip of the last seconds; empty if there was none.
  std::optional<std::int64_t> round_trip_us() const { return adviser_.clock().round_trip_us(wall_us()); }
  // Most checks of the last seconds were answered after their deadlines.
  bool is_late() const { return health_.is_late(clock_.now_us()); }
  // What its answers reveal about the server.
  StoreServer describe() const;
  // Whether it has refused checks of a moving tenant lately.
  bool heard_of_moves(std::int64_t now_us) const { return health_.heard_of_moves(now_us); }
  // The time that the script decides by; 0: the server's own.
  std::int64_t decide_at_us() const;

  // Its clock is wrong: until it is right again, calls are answered kNoAnswer at once, and probes check the
  // clock.
  void leave_out(bool out) { left_out_ = out; }
  bool is_left_out() const { return left_out_; }

  bool ready() const { return connection_.ready(); }
  // Nothing is queued or in flight: the backend may be destroyed.
  bool idle() const { return queue_.empty() && asking_queue_.empty() && in_flight_.empty(); }

  // start() would answer kNoAnswer.
  bool would_fail(const StoreCall& call) const {
    return left_out_ || !breaker_.closed() || is_too_slow_for(call, clock_.now_us());
  }

  // start() would answer kShed.
  bool would_shed(const StoreCall& call) const {
    return connection_.ready() && breaker_.closed() && !left_out_ && !has_room(call);
  }

  // Starts several calls. They were accepted before and so are not shed; those that are done at once get
  // on_done(). `asking`: send ASKING first, for a slot that is still being moved to this server.
  void start_all(std::span<StoreCall* const> calls, bool asking);

  // Takes back the calls that were not sent yet, except those that are to be sent after an ASKING.
  std::vector<StoreCall*> take_queue() { return queue_.take(); }

  // Sends a command other than a check. An error reply is a problem of the server, until it is dismissed.
  // False: it cannot be sent now.
  bool ask(std::string_view command, OnReply on_reply, bool asking = false);

  void dismiss_problem() { health_.note_works(); }

  // Drops the connection and makes a new one.
  void reconnect(std::string_view why) { connection_.drop(why); }

 private:
  static constexpr std::int64_t kNoDeadline = INT64_MAX;
  class Probe;
  using Command = Flights::Command;
  using How = Flights::How;

  void on_ready() override;
  void on_reply(std::span<const redis::RespValue> reply) override;
  void on_lost(std::string_view why) override;

  // Calls that reached their deadlines.
  struct Expired {
    std::vector<StoreCall*> failed;  // without an answer
    std::vector<StoreCall*> shed;
    std::size_t slow = 0;    // of the failed: sent, and the server had all the time it may need
    std::size_t unsent = 0;  // of the failed
  };

  // From start() to the answer: redis_backend.cc.
  bool enqueue(StoreCall& call, FairQueue& queue, bool is_new);
  bool is_too_slow_for(const StoreCall& call, std::int64_t now_us) const {
    return slowness_.slower_than_us() != 0 && call.deadline_us != 0 && call.refund_of_us == 0 &&
           call.deadline_us - now_us <= slowness_.slower_than_us();
  }
  void on_error(Command& command, std::span<const redis::RespValue> reply);
  bool hand_over(Command& command, redis::ServerError kind, std::string_view error);
  void refuse_moving(Command& command, std::string_view key_numbers);
  void finish(Command& command, bool answered);
  void end_batch(Command& command, bool answered, std::vector<StoreCall*>& waiting);
  void complete(std::span<StoreCall* const> calls);
  void note_answer(Command& command, std::int64_t server_us);
  void note_use();
  void send_probe(std::int64_t now_us);
  void leave_out_probe(std::vector<StoreCall*>& calls) const;
  bool must_look(std::int64_t now_us);
  bool must_look_at_clock(std::int64_t now_us);
  std::int64_t wall_us() const;
  BackendHealth::Facts facts() const;
  void report_news(std::int64_t now_us);

  // Who may wait: redis_backend_queue.cc.
  std::size_t room() const { return std::min(options_.queue_max, bound_.max()); }
  bool has_room(const StoreCall& call) const;
  void leave_queue(FairQueue& queue, std::uint32_t work, std::int64_t now_us);
  void put_back(std::span<StoreCall* const> calls, FairQueue& queue);
  void note_end_of(const StoreCall& call);
  void deny_unanswered(StoreCall& call);
  void remember(const Command& command, std::int64_t server_us);
  void note_refunds(const Batch& batch);

  // What is sent: redis_backend_send.cc.
  void send_queue();
  void send_batches();
  void send_flights(FairQueue& queue, bool asking);
  std::uint64_t group_of(const StoreCall& call) const;
  bool may_send_more(const FairQueue& queue);
  void send(std::unique_ptr<Batch> batch, std::uint64_t work, How how, std::int64_t now_us);
  void add_to_flight(std::unique_ptr<Batch> batch, std::uint64_t work, How how, std::int64_t now_us);
  void append_asking(std::int64_t now_us);
  void send_flight();
  void send_commands();
  void resend_with_script(Command command);
  std::unique_ptr<Batch> spare_batch();

  // As time passes: redis_backend_deadlines.cc.
  void expire_calls(std::int64_t now_us);
  void expire_commands(std::int64_t now_us);
  void collect_expired(std::int64_t now_us, Expired& expired);
  bool stays_queued(StoreCall& call, std::int64_t now_us, Expired& expired);
  void note_failed(const Expired& expired, std::int64_t now_us);
  std::int64_t patience_us() const;
  std::int64_t silence_us_max() const;
  void drop_if_silent(std::int64_t now_us);
  void note_owed(std::int64_t since_us) {
    if (unanswered_since_us_ == 0) unanswered_since_us_ = since_us;
  }
  std::int64_t silent_since_us() const;
  std::int64_t silent_for_us(std::int64_t now_us) const;
  void fail_queue(std::vector<StoreCall*>& failed);

  // While the server has no memory left: redis_backend_full.cc.
  struct Parted;
  bool goes_guarded(const StoreCall& call, std::int64_t now_us) const;
  void append_command(Batch& batch, How how, bool with_script);
  void begin_full(std::int64_t now_us);
  bool would_be_admitted(const StoreCall& call) const;
  static bool passes_over(StoreCall& call, const Batch& batch, std::string_view named);
  void on_full(Command& command, std::string_view named);
  void part_full(const Command& command, std::string_view named, Parted& parted) const;
  void send_together(std::span<StoreCall* const> calls, bool asking);
  void send_alone(std::span<StoreCall* const> calls, bool asking);

  const Clock& clock_;
  const redis::Transport& transport_;
  RedisBackendOwner& owner_;
  const RedisBackendOptions options_;
  LimitRecords limits_;
  RememberedDenials& denials_;
  redis::Breaker breaker_;
  Slowness slowness_;
  LongestDeadline longest_deadline_;
  redis::Connection connection_;
  redis::Adviser adviser_;
  BackendHealth health_;
  FairQueue queue_;
  FairQueue asking_queue_;  // calls that are sent after an ASKING
  RedisWork work_;
  QueueBound bound_;
  SendWindow window_;
  Flights in_flight_;
  std::string command_;              // being written; empty between uses
  std::size_t flight_commands_ = 0;  // in command_
  SlotGroups groups_;
  std::vector<std::unique_ptr<Batch>> spares_;
  std::unique_ptr<Probe> probe_;
  bool connected_ = false;
  std::int64_t lost_at_us_;               // since when there is no connection, if there is none
  std::int64_t unanswered_since_us_ = 0;  // when the server owed us the next reply; 0: it owes none
  bool is_early_drop_ = false;            // more patient calls might have had an answer
  bool left_out_ = false;                 // because of its clock
  std::int64_t clock_look_at_us_ = 0;     // the next check of the clock, while left out
  std::int64_t next_deadline_us_;         // no call has an earlier one
  int held_back_ = 0;                     // more calls are about to come: send nothing yet
  std::int64_t full_until_us_ = 0;        // the server has no memory left, as far as we know
  std::string sha_when_full_;             // of redis_script_when_full(); empty: not known
  RedisStats stats_;
};

}  // namespace sluice

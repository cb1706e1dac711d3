#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/limits.h"
#include "redis/connection/breaker.h"
#include "redis/connection/connection.h"
#include "redis/connection/recent_share.h"
#include "redis/inspect/adviser.h"
#include "redis/protocol/server_error.h"
#include "store/redis/cluster/slot_groups.h"
#include "store/redis/queue/fair_queue.h"
#include "store/redis/queue/queue_bound.h"
#include "store/redis/queue/redis_work.h"
#include "store/redis/queue/remembered_denials.h"
#include "store/redis/queue/send_window.h"
#include "store/redis/redis_stats.h"
#include "store/redis/script/batch.h"
#include "store/redis/trouble_news.h"
#include "store/store.h"
#include "store/store_report.h"

namespace sluice {

class RedisStore;

// The cluster that a RedisStore's server is a node of. With one, the store serves a share of the slots;
// without one, it serves a single server.
class RedisCluster {
 public:
  // The server has redirected or refused these calls with an error, and charged nothing. The cluster now owns
  // them, and may start() them anywhere; `reply` is valid until it calls `from`.
  virtual void on_sent_away(RedisStore& from, redis::ServerError kind, std::string_view reply,
                            std::span<StoreCall* const> calls) = 0;

  // Whether a command on this slot may have only one key: true while the slot's keys are on two nodes.
  virtual bool takes_single_keys_only(std::uint16_t slot) const = 0;

  // Whether a command may touch only one slot. False: the server turned out not to be in a cluster.
  virtual bool has_slots() const = 0;

 protected:
  ~RedisCluster() = default;
};

struct RedisStoreOptions {
  std::string name;                     // of the server, in reports; empty: its address
  redis::ConnectionOptions connection;  // its script: redis_script(), see store/redis/script/script.h
  redis::BreakerOptions breaker;
  std::string key_prefix = "rl:";
  std::size_t batches_in_flight = 2;
  std::size_t queue_max = kRedisQueueMax;
  std::int64_t operation_timeout_us = 50'000;  // a slower server is failing, however patient callers are
  std::int64_t slow_us = 10'000;  // a server that misses a deadline of this length or more is failing, too
  // Gets a sentence for the log: what is wrong and why, or that it is over. At most a few per minute.
  std::function<void(bool is_problem, const std::string& sentence)> on_news;
  const Clock* decide_by = nullptr;  // in tests: instead of the server's own clock
  // How often the server is asked about itself, for advice(); 0: never.
  std::int64_t advise_every_us = 0;
  redis::Adviser::OnChange on_advice;
  const Clock* wall_clock = nullptr;  // what the server's clock is compared with; null: the store's own clock
  RedisCluster* cluster = nullptr;    // null: the server is not in a cluster
  // Whether tenants may move between this store and others: then a tenant that is moving is refused here
  // (StoreCall::moving). Not for a node of a cluster. See tenant_move/tenant_move.h.
  bool heeds_moves = false;
  bool only_looks = false;  // a replica, read-only; even our probe does not charge
  // Counters that any loop of the process has given room to, so that no loop remembers an outdated denial.
  std::shared_ptr<FreedCounters> freed = std::make_shared<FreedCounters>();
  std::int64_t remember_denials_us = RememberedDenials::kForUs;  // 0: every check goes to the server
  // Shared by the nodes of a cluster, which looks there itself; null: the store has its own.
  RememberedDenials* denials = nullptr;
};

// A Store on one Redis or Valkey server. Belongs to one event loop's thread.
//
//   TcpTransport transport(loop);
//   RedisStore store(transport, clock, params,
//                    {.connection = {.address = target.addresses[0], .script = redis_script()}}, random);
//   store.tick(clock.now_us());  // and again every few milliseconds
//
// It batches by itself: while a batch is in flight, calls queue; when its reply arrives, the queue is sent as
// the next batch. An idle server gets a call at once, a busy one gets large batches; there is no timer to
// tune.
//
// A deadline limits the server: it counts from when a call is sent, or while there is no connection, or while
// the server is silent. A call that waits behind others on a server that keeps answering just waits. The
// queue is bounded by what the server can answer (QueueBound); a call beyond that is kShed. Callers and
// tenants take turns (FairQueue), and a caller with less than its share of the queue always gets in. How much
// is sent at once, and how much is in flight, is bounded by what the server answers in time, given all its
// other clients (SendWindow). All of these are measured by the work that calls cause on the server
// (RedisWork), so that nobody waits long behind a few expensive calls.
//
// A check that was denied a moment ago, and still has no room, is denied again without asking the server
// (RememberedDenials).
//
// A call without an answer may have been charged, unless it never left the queue. Replies come in order, so a
// late one is recognised as such and only frees its place in the pipeline. The breaker stops sending to a
// server that keeps failing, keeps missing deadlines, or refuses us. Then calls are answered kNoAnswer at
// once, and a probe on its own key finds out when the server is back and fast enough.
//
// A silent server gets a new connection after the operation timeout or, if that is longer, after half of the
// time that the most patient call in flight had when it was sent. A call that was in flight on a lost
// connection is sent once more, with the time it has left, if it has a request id and so cannot be charged
// twice; other calls are answered kNoAnswer. No call is sent more than twice, except the parts of a cluster's
// split calls: they are retried until their deadline, because one part without an answer makes the others
// take back their charges.
//
// A server that has no memory left goes on counting what it knows. Calls that would be admitted, and that it
// would have to keep something new for, are answered kNoRoom; what is denied is denied. The breaker stays
// closed.
//
// On a node of a cluster a command may touch only one slot. There, what is sent at once is not a batch but a
// flight: one batch for each slot in the queue, written together.
class RedisStore final : public Store, private redis::ConnectionEvents {
 public:
  using Random = std::function<std::uint64_t(std::uint64_t below)>;
  // Gets the reply; empty: there was none.
  using OnReply = std::function<void(std::span<const redis::RespValue>)>;

  // REQUIRES: transport, clock and params outlive the store.
  RedisStore(redis::Transport& transport, const Clock& clock, ParamsTable& params, RedisStoreOptions options,
             const Random& random);
  ~RedisStore() override;

  bool start(StoreCall& call) override;
  void reset(std::span<const CounterName> counters, std::function<void(int)> done) override;
  void begin_burst() override { ++held_back_; }
  void end_burst() override {
    --held_back_;
    send_queue();
  }
  void tick(std::int64_t now_us) override;
  std::int64_t next_due_us() const override { return next_deadline_us_; }
  bool busy() const override {
    return queue_.size() >= room() / 2 || queue_.work() >= kRedisQueueWorkMax / 2;
  }
  Health health() const override;
  void report(StoreReport& report) const override;

  const RedisStats& stats() const { return stats_; }
  redis::Breaker::State breaker_state() const { return breaker_.state(); }

  // What should be changed about the server although it works; also part of health().problems.
  const std::vector<std::string>& advice() const { return adviser_.advice(); }
  // How far the server's clock is ahead of ours (negative: behind); empty before the first reply.
  std::optional<redis::ClockDelta::Estimate> clock_delta() const { return adviser_.clock().estimate(); }
  // The fastest round trip of the last seconds; empty if there was none.
  std::optional<std::int64_t> round_trip_us() const { return adviser_.clock().round_trip_us(wall_us()); }
  // Most checks of the last seconds were answered after their deadlines.
  bool is_late() const { return !lateness().empty(); }
  // What its answers reveal about the server.
  StoreServer server() const;
  // For a cluster:

  // Its clock is wrong: until it is right again, calls are answered kNoAnswer at once, and probes check the
  // clock.
  void leave_out(bool out) { left_out_ = out; }
  bool is_left_out() const { return left_out_; }

  bool ready() const { return connection_.ready(); }
  // Nothing is queued or in flight: the store may be destroyed.
  bool idle() const { return queue_.empty() && asking_queue_.empty() && in_flight_.empty(); }

  // start() would answer kNoAnswer.
  bool would_fail() const { return left_out_ || !breaker_.closed(); }

  // start() would answer kShed.
  bool would_shed(const StoreCall& call) const {
    return connection_.ready() && breaker_.closed() && !left_out_ && !has_room(call);
  }

  // Starts several calls. They were accepted before and so are not shed; those that are done at once get
  // on_done(). `asking`: send ASKING first, for a slot that is still being moved to this server.
  void start_all(std::span<StoreCall* const> calls, bool asking);

  // Takes back the calls that were not sent yet, except those that are to be sent after an ASKING.
  std::vector<StoreCall*> take_queue() { return queue_.take(); }

  // Sends a command other than a check. False: it cannot be sent now.
  bool ask(std::string_view command, OnReply on_reply, bool asking = false);

  // Drops the connection and makes a new one.
  void reconnect(std::string_view why) { connection_.drop(why); }

 private:
  static constexpr std::int64_t kNoDeadline = INT64_MAX;
  class Probe;
  // A command without a reply yet: a batch, an ask(), or neither (an ASKING).
  struct InFlight {
    std::unique_ptr<Batch> batch;
    OnReply on_reply;
    std::int64_t asked_at_us = 0;
    std::int64_t patience_us = 0;  // after this time it is late
    std::int64_t silence_us = 0;   // how long the server may be silent before we reconnect
    bool late = false;
    std::size_t missed = 0;       // calls of the batch that reached their deadlines
    std::int64_t sent_at_us = 0;  // by the wall clock
    std::int64_t slept_us = 0;    // Transport::slept_us() when it was sent
    std::uint64_t work = 0;
    bool asking = false;      // comes after an ASKING
    bool guarded = false;     // by when_full.lua
    bool alone = false;       // guarded, and if its only call is denied it writes nothing
    bool ends_flight = true;  // its reply frees a place
    bool brings_script = false;
  };

  void on_ready() override;
  void on_reply(std::span<const redis::RespValue> reply) override;
  void on_lost(std::string_view why) override;

  // How a batch is sent; see InFlight.
  struct How {
    bool asking = false;
    bool guarded = false;
    bool alone = false;
  };

  // Calls that reached their deadlines.
  struct Expired {
    std::vector<StoreCall*> failed;  // without an answer
    std::vector<StoreCall*> shed;
    std::size_t slow = 0;              // of the failed: sent, and the server had all the time it may need
    std::size_t unsent = 0;            // of the failed
    std::int64_t time_us = INT64_MAX;  // the shortest time that the server had for a slow one
  };

  bool is_remembered(StoreCall& call);
  void deny_unanswered(StoreCall& call);
  bool heard_of_moves(std::int64_t now_us) const;
  void remember(const InFlight& command, std::int64_t server_us);
  void note_refunds(const Batch& batch);
  bool enqueue(StoreCall& call, FairQueue& queue, bool is_new);
  std::size_t room() const { return std::min(options_.queue_max, bound_.max()); }
  bool has_room(const StoreCall& call) const;
  bool may_send_more(const FairQueue& queue);
  void leave_queue(FairQueue& queue, std::uint32_t work, std::int64_t now_us);
  void note_end_of(const StoreCall& call);
  void put_back(std::span<StoreCall* const> calls, FairQueue& queue);
  void send_queue();
  void send_flights(FairQueue& queue, bool asking);
  std::uint64_t group_of(const StoreCall& call) const;
  void send(std::unique_ptr<Batch> batch, std::uint64_t work, How how, std::int64_t now_us);
  void add_to_flight(std::unique_ptr<Batch> batch, std::uint64_t work, How how, std::int64_t now_us);
  void append_command(Batch& batch, How how, bool with_script);
  bool goes_guarded(const StoreCall& call, std::int64_t now_us) const;
  void begin_full(std::int64_t now_us);
  bool would_be_admitted(const StoreCall& call) const;
  void on_full(InFlight& command, std::string_view named);
  struct Parted;
  void part_full(const InFlight& command, std::string_view named, Parted& parted) const;
  void send_alone(std::span<StoreCall* const> calls, bool asking);
  bool is_full(std::int64_t now_us) const;
  void append_asking(std::int64_t now_us);
  void send_flight();
  void send_commands();
  std::int64_t decide_at_us() const;
  bool must_look_at_clock(std::int64_t now_us);
  void send_probe(std::int64_t now_us);
  void leave_out_probe(std::vector<StoreCall*>& calls) const;
  void resend_with_script(InFlight command);
  void answer(InFlight& command, std::span<const redis::RespValue> reply);
  void refuse_moving(InFlight& command, std::string_view key_numbers);
  void on_error(InFlight& command, std::span<const redis::RespValue> reply);
  bool hand_over(InFlight& command, redis::ServerError kind, std::string_view error);
  void expire_calls(std::int64_t now_us);
  void expire_commands(std::int64_t now_us);
  void collect_expired(std::int64_t now_us, Expired& expired);
  bool stays_queued(StoreCall& call, std::int64_t now_us, Expired& expired);
  void note_failed(const Expired& expired, std::int64_t now_us);
  std::int64_t silent_since_us() const;
  std::int64_t silent_for_us(std::int64_t now_us) const;
  void fail_queue(std::vector<StoreCall*>& failed);
  void finish(InFlight& command, bool answered);
  void end_batch(InFlight& command, bool answered, std::vector<StoreCall*>& waiting);
  void complete(std::span<StoreCall* const> calls);
  std::int64_t patience_us(Batch& batch, std::int64_t now_us) const;
  void note_answer(InFlight& command, std::int64_t server_us);
  void note_use();
  bool must_look();
  std::unique_ptr<Batch> spare_batch();
  std::int64_t wall_us() const;
  void note_problem(std::string_view what, std::string_view why);
  std::string lateness() const;
  void tell_news(std::int64_t now_us);

  const Clock& clock_;
  const redis::Transport& transport_;
  const RedisStoreOptions options_;
  LimitRecords limits_;
  RememberedDenials own_denials_;
  RememberedDenials& denials_;
  redis::Breaker breaker_;
  redis::Connection connection_;
  redis::Adviser adviser_;
  FairQueue queue_;
  FairQueue asking_queue_;  // calls that are sent after an ASKING
  RedisWork work_;
  QueueBound bound_;
  SendWindow window_;
  std::deque<InFlight> in_flight_;
  std::size_t flights_ = 0;  // a single batch is one, too
  std::uint64_t work_under_way_ = 0;
  std::size_t questions_ = 0;        // in in_flight_: those of ask()
  std::size_t scripts_on_way_ = 0;   // in in_flight_: those that load the script
  std::size_t flight_commands_ = 0;  // in command_
  SlotGroups groups_;
  std::vector<std::unique_ptr<Batch>> spares_;
  std::unique_ptr<Probe> probe_;
  bool connected_ = false;
  bool left_out_ = false;                  // because of its clock
  std::int64_t clock_look_at_us_ = 0;      // the next check of the clock, while left out
  std::int64_t probe_within_us_;           // a probe that is answered within this time closes the breaker
  bool in_doubt_ = false;                  // there was a problem, and the connection is new
  std::string command_;                    // being written; empty between uses
  std::int64_t next_deadline_us_;          // no call has an earlier one
  int held_back_ = 0;                      // more calls are about to come: send nothing yet
  std::string problem_;                    // from the first failure until a batch is answered
  redis::RecentShare late_;                // checks; bad: the answer came after the deadline
  redis::RecentShare shed_;                // calls
  std::int64_t refused_moving_at_us_ = 0;  // last; 0: never
  std::int64_t full_until_us_ = 0;         // the server has no memory left, as far as we know
  std::int64_t no_room_at_us_ = 0;         // a call was told so last; 0: never
  std::string sha_when_full_;              // of redis_script_when_full(); empty: not known
  TroubleNews failure_news_, lateness_news_, moving_news_, clock_news_, shed_news_, full_news_;
  RedisStats stats_;
};

}  // namespace sluice

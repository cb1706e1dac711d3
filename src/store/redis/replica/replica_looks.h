#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "redis/inspect/replica_lag.h"
#include "store/redis/backend/redis_backend.h"

namespace sluice {

// What happened to looks; only grows.
struct ReplicaLooksStats {
  std::uint64_t answered = 0;   // by the replica
  std::uint64_t passed_on = 0;  // tried at the replica in vain, then sent to the master

  ReplicaLooksStats& operator+=(const ReplicaLooksStats& other) {
    answered += other.answered;
    passed_on += other.passed_on;
    return *this;
  }
};

// Sends looks at counters to a replica of a master. Callers do not notice, except that the data may be a
// second old. If the replica is gone, loading or behind, or does not answer within half of the time that a
// look has, the master is asked. Belongs to one event loop's thread.
//
//   if (ReplicaLooks::is_look(call) && looks.take(call)) return false;
//   return master.start(call);
//
// Looks use the same script as checks, by EVALSHA: a look writes nothing, and a replica refuses all writes.
// (EVALSHA_RO would say so in advance, but Redis 6.2 does not have it.)
class ReplicaLooks final : private RedisBackendOwner {
 public:
  // Starts a call at the master; its on_done() follows.
  using AskMaster = std::function<void(StoreCall&)>;

  // `options`: those of the master, with the replica's address or source. With
  // connection.reads_replica the replica is a node of a Cluster. REQUIRES: transport, clock and params
  // outlive it.
  ReplicaLooks(redis::Transport& transport, const Clock& clock, ParamsTable& params,
               RedisBackendOptions options, const RedisBackend::Random& random, AskMaster ask_master);
  ~ReplicaLooks();

  // Whether a call charges nothing and leaves no record.
  static bool is_look(const StoreCall& call);

  // True: on_done() will be called, by the deadline at the latest. False: ask the master.
  // REQUIRES: is_look(call)
  bool take(StoreCall& call);

  // To be called often. `master` is called when its offset is needed; null: there is none at the moment.
  void tick(std::int64_t now_us, const std::function<RedisBackend*()>& master);
  std::int64_t next_due_us() const { return replica_.next_due_us(); }

  bool failing() const { return replica_.breaker_state() != redis::Breaker::State::kClosed; }
  bool idle() const { return replica_.idle(); }
  const ReplicaLooksStats& stats() const { return stats_; }

 private:
  class Look;

  void on_sent_away(RedisBackend& from, redis::ServerError kind, std::string_view reply,
                    std::span<StoreCall* const> calls) override;
  bool takes_single_keys_only(std::uint16_t) const override { return false; }
  bool has_slots() const override { return is_in_cluster_; }
  bool takes_back(redis::ServerError kind) const override {
    return is_in_cluster_ && belongs_elsewhere(kind);
  }
  bool may_send_again(const StoreCall&) const override { return false; }
  Look* spare_look();
  void finish(Look& look);

  const Clock& clock_;
  const AskMaster ask_master_;
  const std::int64_t patience_us_;  // for looks without a deadline
  const bool is_in_cluster_;
  RememberedDenials denials_;  // always empty: no look is denied
  RedisBackend replica_;
  // Shared, because answers may come after we are destroyed.
  const std::shared_ptr<redis::ReplicaLag> lag_ = std::make_shared<redis::ReplicaLag>();
  std::vector<std::unique_ptr<Look>> looks_;
  std::vector<Look*> spares_;  // the unused ones
  std::int64_t wanted_at_us_;  // the last time
  std::int64_t useful_at_us_ = 0;
  ReplicaLooksStats stats_;
};

}  // namespace sluice

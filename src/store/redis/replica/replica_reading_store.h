#pragma once

#include <algorithm>
#include <memory>
#include <utility>

#include "store/redis/redis_store.h"
#include "store/redis/replica/replica_looks.h"

namespace sluice {

// A RedisStore whose looks go to a replica of its server while that is up to date (see ReplicaLooks). Belongs
// to one event loop's thread.
class ReplicaReadingStore final : public Store {
 public:
  // REQUIRES: transport, clock and params outlive it.
  ReplicaReadingStore(redis::Transport& transport, const Clock& clock, ParamsTable& params,
                      RedisBackendOptions master, RedisBackendOptions replica,
                      const RedisStore::Random& random)
      : master_(transport, clock, params, std::move(master), random),
        looks_(transport, clock, params, std::move(replica), random, [this](StoreCall& call) {
          if (master_.start(call)) call.on_done();
        }) {}

  bool start(StoreCall& call) override {
    if (ReplicaLooks::is_look(call) && looks_.take(call)) return false;
    return master_.start(call);
  }
  void reset(std::span<const CounterName> counters, std::function<void(int)> done) override {
    master_.reset(counters, std::move(done));
  }
  void begin_burst() override { master_.begin_burst(); }
  void end_burst() override { master_.end_burst(); }
  void tick(std::int64_t now_us) override {
    master_.tick(now_us);
    looks_.tick(now_us, [this] { return &master_.backend(); });
  }
  std::int64_t next_due_us() const override { return std::min(master_.next_due_us(), looks_.next_due_us()); }
  bool busy() const override { return master_.busy(); }
  // That of the master: the store works without the replica.
  Health health() const override { return master_.health(); }
  void report(StoreReport& report) const override { master_.report(report); }

  const RedisStore& master() const { return master_; }
  const ReplicaLooks& looks() const { return looks_; }

 private:
  RedisStore master_;
  ReplicaLooks looks_;
};

}  // namespace sluice

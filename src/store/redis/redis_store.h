#pragma once

#include <cstdint>
#include <functional>
#include <span>

#include "store/redis/backend/redis_backend.h"
#include "store/store.h"

namespace sluice {

// A Store on one Redis or Valkey server, or on the master that Sentinels name. Belongs to one event loop's
// thread.
//
//   TcpTransport transport(loop);
//   RedisStore store(transport, clock, params,
//                    {.connection = {.address = target.addresses[0], .script = redis_script()}}, random);
//   store.tick(clock.now_us());  // and again every few milliseconds
//
// A check that was denied a moment ago, and still has no room, is denied again without asking the server
// (RememberedDenials). RedisBackend queues, sends and answers calls. No call is sent more than twice.
class RedisStore final : public Store, private RedisBackendOwner {
 public:
  using Random = RedisBackend::Random;

  // REQUIRES: transport, clock and params outlive the store.
  RedisStore(redis::Transport& transport, const Clock& clock, ParamsTable& params,
             RedisBackendOptions options, const Random& random);

  bool start(StoreCall& call) override {
    if (!denials_.empty() && is_remembered(call)) return true;
    return backend_.start(call);
  }
  void reset(std::span<const CounterName> counters, std::function<void(int)> done) override;
  void begin_burst() override { backend_.begin_burst(); }
  void end_burst() override { backend_.end_burst(); }
  void tick(std::int64_t now_us) override { backend_.tick(now_us); }
  std::int64_t next_due_us() const override { return backend_.next_due_us(); }
  bool busy() const override { return backend_.busy(); }
  Health health() const override { return backend_.health(); }
  void report(StoreReport& report) const override;

  RedisBackend& backend() { return backend_; }
  RedisStats stats() const;

 private:
  bool is_remembered(StoreCall& call);

  bool has_slots() const override { return false; }
  bool takes_single_keys_only(std::uint16_t) const override { return false; }
  bool takes_back(redis::ServerError) const override { return false; }
  void on_sent_away(RedisBackend&, redis::ServerError, std::string_view,
                    std::span<StoreCall* const>) override {}
  bool may_send_again(const StoreCall& call) const override { return !call.sent_again; }

  const Clock& clock_;
  const std::string key_prefix_;
  const std::shared_ptr<FreedCounters> freed_;
  RememberedDenials denials_;
  RedisBackend backend_;
  std::uint64_t denied_from_memory_ = 0;
};

}  // namespace sluice

#include "store/redis/redis_store.h"

#include <utility>

#include "store/redis/script/wire.h"

namespace sluice {

RedisStore::RedisStore(redis::Transport& transport, const Clock& clock, ParamsTable& params,
                       RedisBackendOptions options, const Random& random)
    : clock_(clock),
      key_prefix_(options.key_prefix),
      freed_(options.freed),
      denials_(params, options.freed, options.remember_denials_us),
      backend_({transport, clock, params, *this, denials_}, std::move(options), random) {}

// The server of a tenant that moves away refuses its checks: what it has denied before no longer counts.
bool RedisStore::is_remembered(StoreCall& call) {
  const std::int64_t now_us = clock_.now_us();
  if (backend_.heard_of_moves(now_us) || !denials_.deny(call, now_us, backend_.decide_at_us())) return false;
  ++denied_from_memory_;
  return true;
}

void RedisStore::reset(std::span<const CounterName> counters, std::function<void(int)> done) {
  if (counters.empty()) return done(0);
  std::string command, name;
  redis::append_array(command, 1 + counters.size());
  redis::append_bulk(command, "UNLINK");
  for (const auto& [key, slot_tag] : counters) {
    name.clear();
    append_key(name, key_prefix_, slot_tag, key);
    redis::append_bulk(command, name);
  }
  const auto on_reply = [this, done, names = std::vector(counters.begin(), counters.end())](
                            std::span<const redis::RespValue> reply) {
    for (const CounterName& counter : names) freed_->note(counter.key, clock_.now_us());
    const bool counted = !reply.empty() && reply.front().type == redis::RespValue::Type::kInteger;
    done(counted ? static_cast<int>(reply.front().integer) : -1);
  };
  const bool sent = !backend_.is_failing() && backend_.ask(command, on_reply);
  if (!sent) done(-1);
}

RedisStats RedisStore::stats() const {
  RedisStats stats = backend_.stats();
  stats.denied_from_memory += denied_from_memory_;
  return stats;
}

void RedisStore::report(StoreReport& report) const {
  stats().add_to(report.metrics);
  report.servers.push_back(backend_.describe());
}

}  // namespace sluice

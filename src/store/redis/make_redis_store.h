#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/clock.h"
#include "base/log/log_event.h"
#include "redis/connection/transport.h"
#include "redis/url/store_url.h"
#include "store/params_table.h"
#include "store/redis/backend/redis_backend.h"
#include "store/redis/key_prefix.h"
#include "store/store.h"

namespace sluice {

// The parts of a loop's connections to a store. All outlive the store.
struct RedisStoreParts {
  redis::Transport& transport;
  const Clock& clock;
  const Clock& wall_clock;  // to compare with other machines' clocks
  ParamsTable& params;
  RedisBackend::Random random;
  EventLog log;  // hears that the store has become unreachable, or is back
  std::string key_prefix = kDefaultKeyPrefix;
  bool heeds_moves = false;  // there are cells, between which tenants may move
  // Whether this loop queries the server about itself; one loop is enough.
  bool asks_for_advice = false;
  std::shared_ptr<FreedCounters> freed = std::make_shared<FreedCounters>();         // by all loops
  std::shared_ptr<WorkInFlight> work_in_flight = std::make_shared<WorkInFlight>();  // of all loops
  bool merges = true;  // as in RedisBackendOptions
};

// A loop's own store at the target: one server, the master that Sentinels name, or a Cluster.
std::unique_ptr<Store> make_redis_store(const redis::StoreTarget& target, const RedisStoreParts& parts);

}  // namespace sluice

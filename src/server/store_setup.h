#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "redis/connection/transport.h"
#include "redis/url/store_url.h"
#include "server/serve_options.h"
#include "store/async_store.h"
#include "store/params_table.h"
#include "store/redis/redis_store.h"
#include "telemetry/store_report.h"

namespace sluice::server {

// Where counters live, according to the settings. Plain data.
struct StoreSettings {
  std::optional<redis::StoreTarget> redis;  // none: in this process's memory
  std::optional<int> connections_max;       // per server
  std::string key_prefix;

  friend bool operator==(const StoreSettings&, const StoreSettings&) = default;
};

// Reads --store, else the REDIS_ variables. Throws a CommandError that names what to change.
StoreSettings read_store_settings(const ServeOptions& options);

// The parts of a loop's connections to a store. All outlive the store.
struct StoreParts {
  redis::Transport& transport;
  const Clock& clock;
  const Clock& wall_clock;  // to compare with other machines' clocks
  ParamsTable& params;
  RedisStore::Random random;
  // Receives a sentence for the log: the store has become unreachable, or is back.
  std::function<void(bool is_problem, const std::string& sentence)> log;
  bool heeds_moves = false;  // there are cells, between which tenants may move
  // Whether this loop queries the server about itself; one loop is enough.
  bool asks_for_advice = false;
  std::shared_ptr<FreedCounters> freed = std::make_shared<FreedCounters>();  // by all loops
};

// A loop's own store, and its interfaces beyond AsyncStore.
struct LoopStore {
  std::unique_ptr<AsyncStore> store;
  std::function<RedisStoreCounters()> counters;
  std::function<std::vector<StoreReport::Node>()> nodes;
  std::function<BreakerTransitions()> breaker;
};

// REQUIRES: settings.redis
LoopStore make_redis_store(const StoreSettings& settings, const StoreParts& parts);

}  // namespace sluice::server

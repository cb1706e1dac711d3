#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "cli/serve_options.h"
#include "redis/store_url.h"
#include "redis/transport.h"
#include "store/async_store.h"
#include "store/params_table.h"
#include "store/redis/redis_store.h"
#include "telemetry/store_report.h"

namespace sluice::cli {

// Where counters live, as the operator said it. Plain data.
struct StoreSettings {
  std::optional<redis::StoreTarget> redis;  // none: in this process's memory
  std::optional<int> connections_max;       // to one server
  std::string key_prefix;

  friend bool operator==(const StoreSettings&, const StoreSettings&) = default;
};

// From --store or else the REDIS_ variables. Throws CommandError that names what to change.
StoreSettings read_store_settings(const ServeOptions& options);

// What a loop's connections to a store are made from. All outlive the store.
struct StoreParts {
  redis::Transport& transport;
  const Clock& clock;
  const Clock& wall_clock;  // what other machines' clocks are compared with
  ParamsTable& params;
  RedisStore::Random random;
  // Takes a sentence for the log: the store went away, or is back.
  std::function<void(bool is_problem, const std::string& sentence)> log;
  bool heeds_moves = false;      // there are cells, between which tenants may move
  bool asks_for_advice = false;  // one loop is enough to ask the server about itself
  std::shared_ptr<FreedCounters> freed = std::make_shared<FreedCounters>();  // by all loops
};

// A loop's own store, and what can be asked of it beyond AsyncStore.
struct LoopStore {
  std::unique_ptr<AsyncStore> store;
  std::function<RedisStoreCounters()> counters;
  std::function<std::vector<StoreReport::Node>()> nodes;
  std::function<BreakerTransitions()> breaker;
};

// REQUIRES: settings.redis
LoopStore make_redis_store(const StoreSettings& settings, const StoreParts& parts);

}  // namespace sluice::cli

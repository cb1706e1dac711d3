#pragma once

#include <memory>
#include <optional>
#include <string>

#include "redis/url/store_url.h"
#include "server/serve_options.h"
#include "store/redis/make_redis_store.h"
#include "store/store.h"

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

// Makes a loop's own store. What a further kind of store needs is here: its target in StoreSettings, a line
// in read_store_settings() and one in make_store(). REQUIRES: settings.redis; memory is shared by all loops.
std::unique_ptr<Store> make_store(const StoreSettings& settings, RedisStoreParts parts);

// Connects to a store as a loop thread would: resolves it, logs in, loads the script. Returns nullopt on
// success, else a sentence that says why it cannot be used. Blocks for at most two seconds.
// REQUIRES: settings.redis
std::optional<std::string> try_store(const StoreSettings& settings);

}  // namespace sluice::server

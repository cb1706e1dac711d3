#pragma once

#include <functional>
#include <optional>

#include "base/error.h"
#include "redis/url/store_url.h"

namespace sluice::redis {

// The settings of the REDIS_… variables.
struct RedisEnvironment {
  StoreTarget target;                  // always a Cluster, even with one node
  std::optional<int> connections_max;  // REDIS_MAX_CONN: from this process to one node
};

// Returns the value of an environment variable, null if it is not set; std::getenv will do.
using EnvironmentLookup = std::function<const char*(const char* name)>;

// Reads the five variables that can replace `--store`:
//
//   REDIS_CLUSTER_URL        nodes with commas between them, each redis://host:port, rediss://host:port or
//                            host:port; options as in parse_store_url() may follow the last one
//   REDIS_USE_TLS            true, false, 1 or 0; must agree with URLs that have a scheme
//   REDIS_CLUSTER_USERNAME   these two replace user and password in the URLs
//   REDIS_CLUSTER_PASSWORD
//   REDIS_MAX_CONN           1 to 10000
//
// An empty variable counts as not set. Absent if none is set. The error's field is the variable, and its
// message a sentence about it.
Result<std::optional<RedisEnvironment>> read_redis_environment(const EnvironmentLookup& lookup);

}  // namespace sluice::redis

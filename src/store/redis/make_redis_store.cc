#include "store/redis/make_redis_store.h"

#include <utility>

#include "redis/sentinel/sentinel.h"
#include "store/redis/cluster/cluster_store.h"
#include "store/redis/redis_store.h"
#include "store/redis/replica/replica_reading_store.h"
#include "store/redis/script/script.h"

namespace sluice {
namespace {

using redis::StoreTarget;

constexpr std::int64_t kAdviseEveryUs = 60'000'000;

RedisBackendOptions backend_options(const StoreTarget& target, const RedisStoreParts& parts) {
  RedisBackendOptions options;
  options.connection.script = redis_script();
  options.key_prefix = parts.key_prefix;
  options.wall_clock = &parts.wall_clock;
  options.freed = parts.freed;
  options.work_in_flight = parts.work_in_flight;
  options.merges = parts.merges;
  options.heeds_moves = parts.heeds_moves && target.kind == StoreTarget::Kind::kSingle;
  return options;
}

// Logs what happens at the server named `name`.
void log_news(const std::string& name, const RedisStoreParts& parts, RedisBackendOptions& options) {
  options.on_news = parts.log;
  if (!parts.asks_for_advice) return;
  options.advise_every_us = kAdviseEveryUs;
  options.on_advice = [log = parts.log, name](const auto& advice) {
    for (const std::string& sentence : advice)
      log(LogEvent::kRedisAdvice, std::string(name).append(": ").append(sentence), {{"server", name}});
  };
}

std::shared_ptr<redis::Sentinel> sentinel_of(const StoreTarget& target, const RedisStoreParts& parts,
                                             bool for_replica) {
  redis::SentinelOptions options;
  options.sentinels = target.addresses;
  options.master = target.login;
  options.session.master_name = target.master_name;
  options.session.asks_for_replicas = for_replica;
  return std::make_shared<redis::Sentinel>(parts.transport, parts.clock, std::move(options), parts.random);
}

std::unique_ptr<Store> make_cluster_store(const StoreTarget& target, const RedisStoreParts& parts) {
  ClusterStoreOptions options;
  options.seeds = target.addresses;
  options.node = backend_options(target, parts);
  options.node.on_news = parts.log;
  options.looks_at_replicas = target.looks_at_replicas;
  options.for_each_node = [parts](RedisBackendOptions& node) {
    log_news(node.connection.address.to_string(), parts, node);
  };
  return std::make_unique<ClusterStore>(parts.transport, parts.clock, parts.params, std::move(options),
                                        parts.random);
}

// One server that keeps counters, and perhaps a replica of it that answers looks.
std::unique_ptr<Store> make_server_store(const StoreTarget& target, const RedisStoreParts& parts) {
  const bool has_sentinels = target.kind == StoreTarget::Kind::kSentinel;
  RedisBackendOptions master = backend_options(target, parts);
  master.name = target.to_string();
  log_news(master.name, parts, master);
  if (has_sentinels)
    master.connection.source = sentinel_of(target, parts, false);
  else
    master.connection.address = target.addresses.front();
  if (!target.looks_at_replicas)
    return std::make_unique<RedisStore>(parts.transport, parts.clock, parts.params, std::move(master),
                                        parts.random);
  RedisBackendOptions replica = master;
  replica.connection.source = sentinel_of(target, parts, true);
  return std::make_unique<ReplicaReadingStore>(parts.transport, parts.clock, parts.params, std::move(master),
                                               std::move(replica), parts.random);
}

}  // namespace

std::unique_ptr<Store> make_redis_store(const StoreTarget& target, const RedisStoreParts& parts) {
  switch (target.kind) {
    case StoreTarget::Kind::kSingle:
    case StoreTarget::Kind::kSentinel:
      return make_server_store(target, parts);
    case StoreTarget::Kind::kCluster:
      return make_cluster_store(target, parts);
  }
  std::unreachable();
}

}  // namespace sluice

#include "server/store_setup.h"

#include <fmt/format.h>

#include <cstdlib>

#include "redis/sentinel/sentinel.h"
#include "redis/url/redis_environment.h"
#include "server/command_error.h"
#include "store/redis/cluster/cluster_store.h"
#include "store/redis/replica/replica_reading_store.h"
#include "store/redis/script/script.h"

namespace sluice::server {
namespace {

using redis::StoreTarget;

constexpr std::int64_t kAdviseEveryUs = 60'000'000;

StoreTarget target_of(const std::string& url) {
  auto target = redis::parse_store_url(url);
  if (!target) throw CommandError(fmt::format("--store: {}", target.error().message));
  return std::move(*target);
}

using Transitions = std::shared_ptr<BreakerTransitions>;  // of all nodes of a store

RedisStoreOptions node_options(const StoreSettings& settings, const StoreParts& parts) {
  RedisStoreOptions options;
  options.connection.script = redis_script();
  options.key_prefix = settings.key_prefix;
  options.wall_clock = &parts.wall_clock;
  options.freed = parts.freed;
  options.heeds_moves = parts.heeds_moves && settings.redis->kind == StoreTarget::Kind::kSingle;
  return options;
}

// Counts and logs state changes of the server at `place`.
void log_what_happens_at(const std::string& place, const StoreParts& parts, const Transitions& transitions,
                         RedisStoreOptions& options) {
  options.on_breaker_change = [transitions](auto, auto to) { transitions->count(to); };
  options.on_news = parts.log;
  if (!parts.asks_for_advice) return;
  options.advise_every_us = kAdviseEveryUs;
  options.on_advice = [log = parts.log, place](const auto& advice) {
    for (const std::string& sentence : advice) log(true, fmt::format("{}: {}", place, sentence));
  };
}

std::shared_ptr<redis::Sentinel> sentinel_of(const StoreTarget& target, const StoreParts& parts,
                                             bool for_replica) {
  redis::SentinelOptions options;
  options.sentinels = target.addresses;
  options.master = target.login;
  options.session.master_name = target.master_name;
  options.session.asks_for_replicas = for_replica;
  return std::make_shared<redis::Sentinel>(parts.transport, parts.clock, std::move(options), parts.random);
}

StoreReport::Node report_of(const RedisStore& store, std::string name) {
  const auto clock = store.clock_delta();
  return {.name = std::move(name),
          .ahead_us = clock ? std::optional(clock->ahead_us) : std::nullopt,
          .left_out = store.is_left_out(),
          .round_trip_us = store.round_trip_us(),
          .is_late = store.is_late()};
}

LoopStore make_cluster_store(const StoreTarget& target, RedisStoreOptions node, const StoreParts& parts,
                             const Transitions& transitions) {
  ClusterStoreOptions options;
  options.seeds = target.addresses;
  options.node = std::move(node);
  options.looks_at_replicas = target.looks_at_replicas;
  options.for_each_node = [parts, transitions](RedisStoreOptions& of_node) {
    log_what_happens_at(of_node.connection.address.to_string(), parts, transitions, of_node);
  };
  auto store = std::make_unique<ClusterStore>(parts.transport, parts.clock, parts.params, std::move(options),
                                              parts.random);
  ClusterStore* const made = store.get();
  const auto nodes = [made] {
    std::vector<StoreReport::Node> all;
    made->nodes().for_each([&](const ClusterNodes::Node& each) {
      all.push_back(report_of(*each.store, each.endpoint.to_string()));
    });
    return all;
  };
  return {.store = std::move(store),
          .counters = [made] { return made->node_counters(); },
          .nodes = nodes,
          .breaker = [transitions] { return *transitions; }};
}

// `server` is the part of `store` that keeps counters.
LoopStore with_one_server(std::unique_ptr<AsyncStore> store, const RedisStore& server, std::string place,
                          const Transitions& transitions) {
  return {.store = std::move(store),
          .counters = [&server] { return server.counters(); },
          .nodes = [&server, place = std::move(place)] { return std::vector{report_of(server, place)}; },
          .breaker = [transitions] { return *transitions; }};
}

LoopStore make_replica_reading_store(const StoreTarget& target, const RedisStoreOptions& master,
                                     const StoreParts& parts, const Transitions& transitions) {
  RedisStoreOptions replica = master;
  replica.connection.source = sentinel_of(target, parts, true);
  auto store = std::make_unique<ReplicaReadingStore>(parts.transport, parts.clock, parts.params, master,
                                                     std::move(replica), parts.random);
  const RedisStore& server = store->master();
  return with_one_server(std::move(store), server, target.to_string(), transitions);
}

}  // namespace

StoreSettings read_store_settings(const ServeOptions& options) {
  StoreSettings settings{
      .redis = std::nullopt, .connections_max = std::nullopt, .key_prefix = options.key_prefix};
  if (options.store == "memory") return settings;
  if (!options.store.empty()) {
    settings.redis = target_of(options.store);
    return settings;
  }
  auto environment = redis::read_redis_environment([](const char* name) { return std::getenv(name); });
  if (!environment)
    throw CommandError(fmt::format("{}: {}", environment.error().field, environment.error().message));
  if (*environment) {
    settings.redis = std::move((*environment)->target);
    settings.connections_max = (*environment)->connections_max;
  }
  return settings;
}

LoopStore make_redis_store(const StoreSettings& settings, const StoreParts& parts) {
  const StoreTarget& target = *settings.redis;
  const auto transitions = std::make_shared<BreakerTransitions>();
  RedisStoreOptions options = node_options(settings, parts);
  if (target.kind == StoreTarget::Kind::kCluster)
    return make_cluster_store(target, std::move(options), parts, transitions);
  log_what_happens_at(target.to_string(), parts, transitions, options);
  if (target.kind == StoreTarget::Kind::kSentinel)
    options.connection.source = sentinel_of(target, parts, false);
  else
    options.connection.address = target.addresses.front();
  if (target.looks_at_replicas) return make_replica_reading_store(target, options, parts, transitions);
  auto store = std::make_unique<RedisStore>(parts.transport, parts.clock, parts.params, std::move(options),
                                            parts.random);
  const RedisStore& server = *store;
  return with_one_server(std::move(store), server, target.to_string(), transitions);
}

}  // namespace sluice::server

#include "cli/store_setup.h"

#include <fmt/format.h>

#include <cstdlib>

#include "cli/command.h"
#include "redis/redis_environment.h"
#include "store/redis/script.h"

namespace sluice::cli {
namespace {

using redis::StoreTarget;

StoreTarget target_of(const std::string& url) {
  auto target = redis::parse_store_url(url);
  if (!target) throw CommandError(fmt::format("--store: {}", target.error().message));
  return std::move(*target);
}

RedisStoreOptions node_options(const StoreSettings& settings, const StoreParts& parts) {
  RedisStoreOptions options;
  options.connection.script = redis_script();
  options.key_prefix = settings.key_prefix;
  options.on_breaker_change = [log = parts.log, place = settings.redis->to_string()](auto from, auto to) {
    using State = redis::Breaker::State;
    if (from == State::kClosed)
      log(true, fmt::format("{} does not answer as it should; failure rules decide until it does", place));
    if (to == State::kClosed) log(false, fmt::format("{} answers again", place));
  };
  return options;
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
  RedisStoreOptions options = node_options(settings, parts);
  if (target.kind != StoreTarget::Kind::kSingle)
    throw CommandError("--store: Sentinel and Cluster are not wired up yet");
  options.connection.address = target.addresses.front();
  auto store = std::make_unique<RedisStore>(parts.transport, parts.clock, parts.params, std::move(options),
                                            parts.random);
  RedisStore* const made = store.get();
  return {std::move(store), [made] { return made->counters(); }};
}

}  // namespace sluice::cli

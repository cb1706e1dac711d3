#include "server/setup/store_setup.h"

#include <fmt/format.h>

#include <cstdlib>

#include "redis/url/redis_environment.h"
#include "server/command_error.h"

namespace sluice::server {
namespace {

using redis::StoreTarget;

StoreTarget target_of(const std::string& url) {
  auto target = redis::parse_store_url(url);
  if (!target) throw CommandError(fmt::format("--store: {}", target.error().message));
  return std::move(*target);
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

std::unique_ptr<Store> make_store(const StoreSettings& settings, RedisStoreParts parts) {
  parts.key_prefix = settings.key_prefix;
  return make_redis_store(*settings.redis, parts);
}

}  // namespace sluice::server

#include "server/setup/store_setup.h"

#include <fmt/format.h>

#include <cstdlib>
#include <random>

#include "base/clock.h"
#include "net/socket/event_loop.h"
#include "net/socket/tcp_transport.h"
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

std::optional<std::string> try_store(const StoreSettings& settings) {
  constexpr std::int64_t kPatienceUs = 2'000'000;
  constexpr int kTickMs = 5;
  const SystemClock clock;
  const WallClock wall_clock;
  ParamsTable params;
  net::EventLoop loop;
  net::TcpTransport transport(loop);
  std::mt19937_64 random{std::random_device()()};
  const std::unique_ptr<Store> store =
      make_store(settings, {.transport = transport,
                            .clock = clock,
                            .wall_clock = wall_clock,
                            .params = params,
                            .random = [&random](std::uint64_t below) { return random() % below; },
                            .log = {}});
  Store::Health health;
  for (const std::int64_t end_us = clock.now_us() + kPatienceUs; clock.now_us() < end_us;) {
    store->tick(clock.now_us());
    health = store->health();
    if (health.connected) return std::nullopt;
    loop.wait(kTickMs);
    loop.dispatch();
  }
  return health.problems.empty() ? "no answer" : health.problems.front();
}

}  // namespace sluice::server

#include "server/store_trial.h"

#include <random>

#include "base/clock.h"
#include "net/socket/event_loop.h"
#include "net/socket/tcp_transport.h"
#include "store/params_table.h"

namespace sluice::server {

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
                            .log = [](bool, const std::string&) {}});
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

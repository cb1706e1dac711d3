#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include <sluice/limiter.h>

#include "base/clock.h"
#include "base/mutex.h"
#include "base/secret/hash.h"
#include "engine/engine.h"
#include "library/fixed_policies.h"
#include "net/socket/event_loop.h"
#include "net/socket/tcp_transport.h"
#include "redis/url/store_url.h"
#include "store/memory/memory_counters.h"
#include "store/redis/make_redis_store.h"
#include "store/store.h"
#include "telemetry/decision_counters.h"

namespace sluice::library {

// The thread on which a limiter talks to Redis: an event loop with a store and an engine, as each thread of a
// server has. Other threads post what it shall do. Thread-safe.
//
//   RedisLoop loop(std::move(policies), settings);
//   loop.post([&] { loop.check(request, done); });     // check() and reset() are for its own thread
//   loop.stop();                                       // everything that waits is answered: closed
class RedisLoop {
 public:
  using Log = std::function<void(bool is_problem, const std::string& sentence)>;
  using Done = Limiter::Done;
  using ResetDone = std::function<void(const ResetAnswer&)>;
  using Work = std::move_only_function<void()>;

  struct Settings {
    redis::StoreTarget target;
    std::string key_prefix;
    KeyHasher hasher;
    std::string default_tenant;
    Log log;
  };
  RedisLoop(std::unique_ptr<FixedPolicies> policies, Settings settings);
  ~RedisLoop();
  RedisLoop(const RedisLoop&) = delete;
  RedisLoop& operator=(const RedisLoop&) = delete;

  // Runs the work on the loop's thread, soon. False: it was stopped, and the work is not run.
  [[nodiscard]] bool post(Work work);

  // Waits until Redis can answer, or until then.
  void wait_connected(std::chrono::steady_clock::time_point deadline);

  // Answers all that waits, and what is posted before it has ended. Returns when the thread has ended, except
  // on that thread itself: there it ends after the call. May be called again.
  void stop();

  bool is_own_thread() const { return std::this_thread::get_id() == own_id_.load(std::memory_order_relaxed); }

  // --- on its own thread ---

  // `done` is called once.
  void check(const Request& request, Done done);
  void reset(const Request& request, ResetDone done);

 private:
  void run();
  void begin();
  void turn();
  void end();
  std::vector<Work> take_posted();
  void look_for_connection();
  int wait_ms(std::int64_t now_us) const;

  const std::unique_ptr<FixedPolicies> policies_;
  const Settings settings_;
  const SystemClock clock_;
  const WallClock wall_clock_;
  DecisionTotals totals_;
  MemoryCounters local_;  // for `on_failure: local`
  net::EventLoop loop_;

  // Of the thread, made and destroyed there.
  std::mt19937_64 random_;
  std::optional<net::TcpTransport> transport_;
  std::unique_ptr<Store> store_;
  std::optional<Engine> engine_;
  std::list<Done> checks_;       // without an answer
  std::list<ResetDone> resets_;  // likewise
  std::int64_t next_tick_us_ = 0;
  bool was_connected_ = false;

  Mutex mutex_;
  Condition connected_;
  std::vector<Work> posted_ SLUICE_GUARDED_BY(mutex_);
  bool is_connected_ SLUICE_GUARDED_BY(mutex_) = false;  // was at least once
  bool stopping_ SLUICE_GUARDED_BY(mutex_) = false;
  bool ended_ SLUICE_GUARDED_BY(mutex_) = false;

  std::atomic<std::thread::id> own_id_;
  Mutex joining_;
  std::thread thread_;  // last: it uses the rest
};

}  // namespace sluice::library

#pragma once

#include <memory>

#include <sluice/limiter.h>

#include "library/calls/closing.h"
#include "library/fixed_policies.h"
#include "library/redis/redis_loop.h"

namespace sluice::library {

// The limiter with counters in Redis. Thread-safe: all calls go to one thread, and blocking ones wait for it.
class RedisLimiter final : public Limiter {
 public:
  RedisLimiter(std::unique_ptr<FixedPolicies> policies, RedisLoop::Settings settings);
  ~RedisLimiter() override { RedisLimiter::close(); }

  // As RedisLoop::wait_connected().
  void wait_connected(std::chrono::steady_clock::time_point deadline) { loop_.wait_connected(deadline); }

  Answer check(const Request& request) override;
  void check_async(const Request& request, Done done) override;
  ResetAnswer reset(const Request& request) override;
  void close() override;
  bool sleep_until(std::chrono::steady_clock::time_point time) override { return closing_.sleep_until(time); }

 private:
  Closing closing_;
  RedisLoop loop_;
};

}  // namespace sluice::library

#pragma once

#include <memory>
#include <string>

#include <sluice/limiter.h>

#include "base/clock.h"
#include "base/secret/hash.h"
#include "library/calls/closing.h"
#include "library/fixed_policies.h"
#include "library/memory/engine_pool.h"
#include "store/memory/memory_counters.h"
#include "store/memory/memory_store.h"
#include "telemetry/decision_counters.h"

namespace sluice::library {

// The limiter with counters in this process. Thread-safe. A check takes no lock but that of its counters'
// shards, and allocates nothing once warm.
class MemoryLimiter final : public Limiter {
 public:
  struct Settings {
    std::string default_tenant;
    std::size_t memory_bytes;
  };
  MemoryLimiter(std::unique_ptr<FixedPolicies> policies, Settings settings);

  Answer check(const Request& request) override;
  void check_async(const Request& request, Done done) override { done(check(request)); }
  ResetAnswer reset(const Request& request) override;
  void close() override { closing_.close(); }
  bool sleep_until(std::chrono::steady_clock::time_point time) override { return closing_.sleep_until(time); }

 private:
  const std::unique_ptr<FixedPolicies> policies_;
  const Settings settings_;
  const SystemClock clock_;
  const KeyHasher hasher_ = KeyHasher::with_random_secret();
  DecisionTotals totals_;
  MemoryCounters counters_;
  MemoryStore store_;
  EnginePool engines_;
  Closing closing_;
};

}  // namespace sluice::library

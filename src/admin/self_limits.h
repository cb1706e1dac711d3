#pragma once

#include <cstdint>
#include <string>

#include "base/clock.h"
#include "base/error.h"
#include "base/secret/hash.h"
#include "control/access/principal.h"
#include "doors/http/headers/rate_limit_headers.h"
#include "engine/engine.h"
#include "net/http/http_api.h"
#include "policy/snapshot/snapshot_publisher.h"
#include "store/memory/memory_counters.h"
#include "store/memory/memory_store.h"
#include "store/params_table.h"

namespace sluice::admin {

// The rate limits of the admin API: reads and writes per minute for each admin, and resets per minute for the
// tenant-scoped admins of the same tenants. They are enforced by the same engine that the API configures,
// with built-in policies and counters in this process. All loops share it. Thread-safe.
class SelfLimits {
 public:
  struct PerMinute {
    std::int64_t reads = 1000;
    std::int64_t writes = 100;  // and resets
  };
  // REQUIRES: 1 <= each <= kSlidingLogMax; the clock outlives this object.
  SelfLimits(const Clock& clock, const PerMinute& limits);

  std::string metrics();  // Prometheus text

  // Charges what a change stores beyond the bytes of the call, if the admin is limited in bytes: aliases in
  // YAML, a rollback or one more override of a user make it. kOverloaded: too many for this hour. Not
  // thread-safe: for the control plane's thread.
  Result<void> charge_stored(const control::Principal& principal, std::size_t bytes);

 private:
  friend class SelfLimiter;
  const Clock& clock_;
  ParamsTable params_;
  MemoryCounters memory_;
  MemoryStore store_;
  SnapshotPublisher snapshots_;
  const KeyHasher hasher_ = KeyHasher::with_random_secret();
  DecisionTotals totals_;
  Engine of_control_plane_;
};

// The rate limiter of one loop. Not thread-safe.
class SelfLimiter {
 public:
  SelfLimiter(SelfLimits& limits, doors::HeaderDialects dialects, std::uint64_t seed);

  enum class Kind : std::uint8_t { kRead, kWrite };
  static Kind kind_of(std::string_view http_method) {
    return http_method == "GET" || http_method == "HEAD" ? Kind::kRead : Kind::kWrite;
  }

  // False: this admin must wait, and `response` says so: 429 with rate limit headers and Retry-After. What is
  // written is stored forever, so a tenant-scoped admin is also limited in bytes per hour.
  bool admit(const control::Principal& principal, Kind kind, std::size_t bytes, net::HttpResponse& response);
  // The same over gRPC: OK, or RESOURCE_EXHAUSTED with the time to wait.
  net::GrpcStatus admit(const control::Principal& principal, Kind kind, std::size_t bytes);
  // A reset, as many as writes. They are recorded forever, so the admins of the same tenants count together;
  // those of all tenants are not limited. kOverloaded: this one must wait.
  Result<void> admit_reset(const control::Principal& principal);

 private:
  Decision decide(const control::Principal& principal, Kind kind, std::size_t bytes);

  Engine engine_;
  doors::RateLimitHeaders headers_;
};

}  // namespace sluice::admin

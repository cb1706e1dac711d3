#pragma once

#include <cstdint>
#include <string>

#include "base/clock.h"
#include "base/error.h"
#include "base/hash.h"
#include "control/principal.h"
#include "doors/rate_limit_headers.h"
#include "engine/limiter.h"
#include "net/http_api.h"
#include "policy/repository.h"
#include "store/local_store.h"
#include "store/memory_store.h"
#include "store/params_table.h"

namespace sluice::admin {

// What the admin API allows each admin: so many reads and so many writes a minute, decided by the engine that
// it configures, with two built-in policies and counters in this process. All loops share it. Thread-safe.
class SelfLimits {
 public:
  struct PerMinute {
    std::int64_t reads = 1000;
    std::int64_t writes = 100;
  };
  // REQUIRES: 1 <= each <= kSlidingLogMax; the clock outlives it.
  SelfLimits(const Clock& clock, const PerMinute& limits);

  std::string metrics();  // Prometheus text

 private:
  friend class SelfLimiter;
  const Clock& clock_;
  ParamsTable params_;
  MemoryStore memory_;
  LocalStore store_;
  PolicyBoard board_;
  const KeyHasher hasher_ = KeyHasher::with_random_secret();
  DecisionTotals totals_;
};

// One loop's part of it. Not thread-safe.
class SelfLimiter {
 public:
  SelfLimiter(SelfLimits& limits, doors::HeaderDialects dialects, std::uint64_t seed);

  enum class Kind : std::uint8_t { kRead, kWrite };
  static Kind kind_of(std::string_view http_method) {
    return http_method == "GET" || http_method == "HEAD" ? Kind::kRead : Kind::kWrite;
  }

  // False: this admin has to wait, and `response` says so: 429 with rate limit headers and Retry-After. What
  // is written stays for ever, so who is limited to some tenants may send so many bytes an hour, too.
  bool admit(const control::Principal& principal, Kind kind, std::size_t bytes, net::HttpResponse& response);
  // The same over gRPC: OK, or RESOURCE_EXHAUSTED with how long to wait.
  net::GrpcStatus admit(const control::Principal& principal, Kind kind, std::size_t bytes);

 private:
  Decision decide(const control::Principal& principal, Kind kind, std::size_t bytes);

  Limiter limiter_;
  doors::RateLimitHeaders headers_;
};

}  // namespace sluice::admin

#include "store/memory/memory_store.h"

#include <algorithm>
#include <array>
#include <cassert>

#include "base/limits.h"
#include "store/store_report.h"

namespace sluice {
namespace {

constexpr std::int64_t kFullIsNewsUs = 60'000'000;

}  // namespace

bool MemoryStore::start(StoreCall& call) {
  assert(call.dedupe || !call.is_lease);
  if (call.dedupe) {
    call.refund_of_us == 0 ? requests_.apply_once(call) : requests_.refund_once(call);
    return true;
  }
  call.forget_answer();
  call.verdict = call.refund_of_us == 0
                     ? counters_.apply(call.charges, call.results, call.now_us)
                     : counters_.refund(call.charges, call.results, call.refund_of_us, call.now_us);
  call.results_known = is_answer(call.verdict) ? call.results.size() : 0;
  return true;
}

void MemoryStore::reset(std::span<const CounterName> counters, std::function<void(int)> done) {
  std::array<KeyHash, kLimitsPerCheckMax> keys;
  int existed = 0;
  while (!counters.empty()) {
    const auto some = counters.first(std::min(counters.size(), keys.size()));
    std::ranges::transform(some, keys.begin(), &CounterName::key);
    const int count = counters_.reset(std::span(keys).first(some.size()));
    if (count < 0) return done(count);
    existed += count;
    counters = counters.subspan(some.size());
  }
  done(existed);
}

bool MemoryStore::is_full() const {
  const std::int64_t full_at_us = counters_.no_room_at_us();
  return full_at_us != 0 && clock_.now_us() - full_at_us < kFullIsNewsUs;
}

Store::Health MemoryStore::health() const {
  Health health{.connected = true, .problems = {}};
  if (is_full())
    health.problems.emplace_back(
        "the memory store is full: all counters are in use, so checks that need a new counter are decided by "
        "on_failure; raise --memory-mib, or keep counters in Redis with --store");
  return health;
}

void MemoryStore::report(StoreReport& report) const {
  using enum StoreMetrics::Kind;
  StoreMetrics& metrics = report.metrics;
  const Counters::Stats stats = counters_.stats();
  metrics.add(kGauge, "rate_limiter_store_keys", "Counters in memory.", stats.keys);
  metrics.add(kGauge, "rate_limiter_store_bytes", "Memory used by counters.", stats.bytes);
  metrics.add(kGauge, "rate_limiter_store_bytes_max", "Memory limit for counters.", stats.bytes_max);
  metrics.add(kCounter, "rate_limiter_store_expired_total",
              "Counters removed because they had fully recovered.", stats.expired);
  metrics.add({kCounter,
               "rate_limiter_store_evicted_total",
               "Counters evicted to make room, by kind.",
               {{{"kind", "idle"}, stats.evicted_idle}}});
  metrics.add(kCounter, "rate_limiter_store_full_total",
              "Checks decided by the failure rule because the store was full.", stats.no_room);
  const RequestLog::Stats requests = requests_.stats();
  metrics.add(kGauge, "rate_limiter_request_ids", "Request ids remembered in memory.", requests.entries);
  metrics.add(kGauge, "rate_limiter_request_ids_bytes", "Memory used by request ids.", requests.bytes);
  metrics.add(kCounter, "rate_limiter_request_ids_evicted_total",
              "Request ids evicted early for lack of memory.", requests.evicted);
}

void MemoryStore::tick(std::int64_t /*now_us*/) {
  counters_.tend();
  requests_.tend();
}

}  // namespace sluice

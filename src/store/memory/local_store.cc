#include "store/memory/local_store.h"

#include <algorithm>
#include <array>
#include <cassert>

#include "base/limits.h"

namespace sluice {
namespace {

constexpr std::int64_t kFullIsNewsUs = 60'000'000;

}  // namespace

bool LocalStore::start(StoreCall& call) {
  assert(call.refund_of_us == 0 || !call.dedupe);
  if (call.dedupe) {
    requests_.apply_once(call);
    return true;
  }
  call.forget_answer();
  call.verdict = call.refund_of_us == 0
                     ? store_.apply(call.charges, call.results, call.now_us)
                     : store_.refund(call.charges, call.results, call.refund_of_us, call.now_us);
  call.results_known = is_answer(call.verdict) ? call.results.size() : 0;
  return true;
}

void LocalStore::reset(std::span<const CounterName> counters, std::function<void(int)> done) {
  std::array<KeyHash, kLimitsPerCheckMax> keys;
  int existed = 0;
  while (!counters.empty()) {
    const auto some = counters.first(std::min(counters.size(), keys.size()));
    std::ranges::transform(some, keys.begin(), &CounterName::key);
    const int count = store_.reset(std::span(keys).first(some.size()));
    if (count < 0) return done(count);
    existed += count;
    counters = counters.subspan(some.size());
  }
  done(existed);
}

AsyncStore::Health LocalStore::health() const {
  Health health{.connected = true, .problems = {}};
  const std::int64_t full_at_us = store_.no_room_at_us();
  if (full_at_us != 0 && clock_.now_us() - full_at_us < kFullIsNewsUs)
    health.problems.emplace_back(
        "the memory store is full: all counters are in use, so checks that need a new counter are decided by "
        "on_failure; raise --memory-mib, or keep counters in Redis with --store");
  return health;
}

void LocalStore::tick(std::int64_t /*now_us*/) {
  store_.tend();
  requests_.tend();
}

}  // namespace sluice

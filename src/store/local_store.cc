#include "store/local_store.h"

#include <algorithm>
#include <array>
#include <cassert>

#include "base/limits.h"

namespace sluice {

bool LocalStore::start(StoreCall& call) {
  assert(call.refund_of_us == 0 || !call.dedupe);
  if (call.dedupe) {
    requests_.apply_once(call);
    return true;
  }
  call.replayed = call.conflict = false;
  call.verdict = call.refund_of_us == 0
                     ? store_.apply(call.charges, call.results, call.now_us)
                     : store_.refund(call.charges, call.results, call.refund_of_us, call.now_us);
  call.results_known = call.verdict == Verdict::kNoAnswer ? 0 : call.results.size();
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

void LocalStore::tick(std::int64_t /*now_us*/) {
  store_.tend();
  requests_.tend();
}

}  // namespace sluice

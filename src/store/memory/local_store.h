#pragma once

#include <cstdint>
#include <functional>
#include <span>

#include "base/clock.h"
#include "store/async_store.h"
#include "store/memory/request_log.h"

namespace sluice {

// An AsyncStore over a Store of this process: answers at once, and supports request ids. Thread-safe, unlike
// other AsyncStores: one serves all loops.
//
//   MemoryStore counters(clock, params);
//   LocalStore store(counters, clock);
//   store.start(call);  // call.verdict is there
//
// Deadlines have no effect: there is nothing to wait for. A call without a request id costs what
// Store::apply() costs.
class LocalStore final : public AsyncStore {
 public:
  // REQUIRES: the clock is the store's own; both outlive this.
  LocalStore(Store& store, const Clock& clock, const RequestLog::Options& request_log = {})
      : store_(store), clock_(clock), requests_(store, clock, request_log) {}

  // REQUIRES: a refund has no request id.
  bool start(StoreCall& call) override;
  void prefetch(const KeyHash& key) const override { store_.prefetch(key); }
  bool answers_at_once() const override { return true; }
  void reset(std::span<const CounterName> counters, std::function<void(int)> done) override;
  void tick(std::int64_t now_us) override;
  std::int64_t next_due_us() const override { return INT64_MAX; }
  // A problem: the store had no room for a check in the last minute.
  Health health() const override;

  RequestLog::Stats request_log_stats() const { return requests_.stats(); }

 private:
  Store& store_;
  const Clock& clock_;
  RequestLog requests_;
};

}  // namespace sluice

#pragma once

#include <cstdint>
#include <functional>
#include <span>

#include "base/clock.h"
#include "store/memory/counters.h"
#include "store/memory/request_log.h"
#include "store/store.h"

namespace sluice {

// The Store in this process's memory: Counters, and request ids. Answers at once. Thread-safe, unlike other
// stores: one serves all loops.
//
//   MemoryCounters counters(clock, params);
//   MemoryStore store(counters, clock);
//   store.start(call);  // call.verdict is there
//
// Deadlines have no effect: there is nothing to wait for. A call without a request id costs what
// Counters::apply() costs.
class MemoryStore final : public Store {
 public:
  // REQUIRES: the clock is that of the counters; both outlive this.
  MemoryStore(Counters& counters, const Clock& clock, const RequestLog::Options& request_log = {})
      : counters_(counters), clock_(clock), requests_(counters, clock, request_log) {}

  // REQUIRES: a refund has no request id.
  bool start(StoreCall& call) override;
  void prefetch(const KeyHash& key) const override { counters_.prefetch(key); }
  bool answers_at_once() const override { return true; }
  void reset(std::span<const CounterName> counters, std::function<void(int)> done) override;
  void tick(std::int64_t now_us) override;
  std::int64_t next_due_us() const override { return INT64_MAX; }
  // Whether it had no room for a check in the last minute.
  bool is_full() const;
  // Being full is a problem.
  Health health() const override;
  void report(StoreReport& report) const override;

  RequestLog::Stats request_log_stats() const { return requests_.stats(); }

 private:
  Counters& counters_;
  const Clock& clock_;
  RequestLog requests_;
};

}  // namespace sluice

#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "policy/snapshot.h"

namespace sluice {

class DecisionTotals;

// One thread's counters of decisions, by policy and limit. Written by its own thread without locks or shared
// cache lines; read by whoever asks DecisionTotals.
class DecisionCounters {
 public:
  enum Field : std::uint8_t { kAllowed, kDenied, kShadowDenied, kFailed, kUnitsConsumed, kFields };

  explicit DecisionCounters(DecisionTotals& totals);  // `totals` must outlive this
  ~DecisionCounters();
  DecisionCounters(const DecisionCounters&) = delete;
  DecisionCounters& operator=(const DecisionCounters&) = delete;

  // A new snapshot is in force: from now on its policies are counted. Called between two checks, so it only
  // sets aside what was counted so far; DecisionTotals adds it up later.
  void rebind(std::shared_ptr<const Snapshot> snapshot);

  // REQUIRES: the policy is of the snapshot of the latest rebind().
  void add(const CompiledPolicy& policy, Field field, std::uint64_t n = 1) {
    bump(now_.policies[std::size_t{policy.index} * kFields + field], n);
  }
  // A request lacked a dimension, so that limit was skipped.
  void add_dimension_missing(const CompiledPolicy& policy, const CompiledLimit& limit) {
    bump(now_.limits[policy.first_limit + limit.index], 1);
  }
  void add_no_policy() { bump(no_policy_, 1); }

 private:
  friend class DecisionTotals;
  using Cell = std::atomic<std::uint64_t>;
  // Only one thread writes, so a load and a store are enough, and much cheaper than fetch_add.
  static void bump(Cell& cell, std::uint64_t n) {
    cell.store(cell.load(std::memory_order_relaxed) + n, std::memory_order_relaxed);
  }

  // What was counted under one snapshot.
  struct Cells {
    std::shared_ptr<const Snapshot> snapshot;
    std::unique_ptr<Cell[]> policies;  // kFields for each policy
    std::unique_ptr<Cell[]> limits;    // one for each limit
  };

  DecisionTotals& totals_;
  Cells now_;  // exchanged only with totals_.mutex_ held
  Cell no_policy_{0};
};

// The sum over all threads, past and present. Thread-safe.
class DecisionTotals {
 public:
  struct PolicySum {
    std::uint64_t fields[DecisionCounters::kFields] = {};
    std::map<std::string, std::uint64_t> dimension_missing;  // by limit; only those above 0
    OnFailure on_failure = OnFailure::kOpen;                 // of its latest version
  };
  struct Sum {
    std::map<std::string, PolicySum> by_policy;
    std::uint64_t no_policy = 0;
  };
  Sum sum();

 private:
  friend class DecisionCounters;
  static void collect(const DecisionCounters::Cells& cells, Sum& into);
  void collect_retired();  // REQUIRES: mutex_ is held

  std::mutex mutex_;
  std::vector<const DecisionCounters*> live_;     // guarded by mutex_
  std::vector<DecisionCounters::Cells> retired_;  // guarded by mutex_: not yet in past_
  Sum past_;  // guarded by mutex_: threads that ended, snapshots that passed
};

}  // namespace sluice

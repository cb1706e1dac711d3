#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace sluice {

class DecisionTotals;

// One thread's counters of decisions, by policy and limit. Written by its own thread without locks or shared
// cache lines; read by whoever asks DecisionTotals.
class DecisionCounters {
 public:
  enum Field : std::uint8_t { kAllowed, kDenied, kShadowDenied, kFailed, kUnitsConsumed, kFields };

  // A policy of the snapshot in force, as it is called in the metrics.
  struct PolicyNames {
    std::string id;
    std::vector<std::string> limits;
  };

  explicit DecisionCounters(DecisionTotals& totals);  // `totals` must outlive this
  ~DecisionCounters();
  DecisionCounters(const DecisionCounters&) = delete;
  DecisionCounters& operator=(const DecisionCounters&) = delete;

  // A new snapshot is in force: from now on `add(i, …)` means policies[i].
  void rebind(std::vector<PolicyNames> policies);

  // REQUIRES: policy < policies.size() of the latest rebind().
  void add(std::uint32_t policy, Field field, std::uint64_t n = 1) {
    bump(cells_[offsets_[policy] + field], n);
  }
  // A request lacked a dimension, so that limit was skipped. REQUIRES: limit <
  // policies[policy].limits.size().
  void add_dimension_missing(std::uint32_t policy, std::uint32_t limit) {
    bump(cells_[offsets_[policy] + kFields + limit], 1);
  }
  void add_no_policy() { bump(no_policy_, 1); }

 private:
  friend class DecisionTotals;
  using Cell = std::atomic<std::uint64_t>;
  // Only one thread writes, so a load and a store are enough, and much cheaper than fetch_add.
  static void bump(Cell& cell, std::uint64_t n) {
    cell.store(cell.load(std::memory_order_relaxed) + n, std::memory_order_relaxed);
  }

  DecisionTotals& totals_;
  // These three change only with totals_.mutex_ held. A policy's cells: its fields, then one per limit.
  std::vector<PolicyNames> policies_;
  std::vector<std::size_t> offsets_;
  std::unique_ptr<Cell[]> cells_;
  Cell no_policy_{0};
};

// The sum over all threads, past and present. Thread-safe.
class DecisionTotals {
 public:
  struct PolicySum {
    std::uint64_t fields[DecisionCounters::kFields] = {};
    std::map<std::string, std::uint64_t> dimension_missing;  // by limit; only those above 0
  };
  struct Sum {
    std::map<std::string, PolicySum> by_policy;
    std::uint64_t no_policy = 0;
  };
  Sum sum() const;

 private:
  friend class DecisionCounters;
  static void collect(const DecisionCounters& counters, Sum& into);

  mutable std::mutex mutex_;
  std::vector<const DecisionCounters*> live_;  // guarded by mutex_
  Sum retired_;                                // guarded by mutex_: threads that ended, snapshots that passed
};

}  // namespace sluice

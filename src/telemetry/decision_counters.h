#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace sluice {

// What is counted for each policy.
struct PolicyCounts {
  std::uint64_t allowed = 0;
  std::uint64_t denied = 0;
  std::uint64_t shadow_denied = 0;
  std::uint64_t failed = 0;            // degraded decisions
  std::uint64_t units_consumed = 0;
  std::uint64_t dimension_missing = 0;
  friend bool operator==(const PolicyCounts&, const PolicyCounts&) = default;
};

class DecisionTotals;

// One thread's counters of decisions. Written by its own thread without locks or shared cache lines; read by whoever
// asks DecisionTotals.
class DecisionCounters {
 public:
  enum Field : std::uint8_t { kAllowed, kDenied, kShadowDenied, kFailed, kUnitsConsumed, kDimensionMissing, kFields };

  explicit DecisionCounters(DecisionTotals& totals);
  ~DecisionCounters();
  DecisionCounters(const DecisionCounters&) = delete;
  DecisionCounters& operator=(const DecisionCounters&) = delete;

  // Called when a new snapshot is in force: `ids[i]` is the policy that `add(i, …)` means from now on.
  void rebind(std::vector<std::string> ids);

  // REQUIRES: policy < ids.size() of the latest rebind().
  void add(std::uint32_t policy, Field field, std::uint64_t n = 1) { bump(cells_[policy * kFields + field], n); }
  void add_no_policy() { bump(no_policy_, 1); }

 private:
  friend class DecisionTotals;
  using Cell = std::atomic<std::uint64_t>;
  // Only one thread writes, so a plain load and store is enough, and much cheaper than fetch_add.
  static void bump(Cell& cell, std::uint64_t n) {
    cell.store(cell.load(std::memory_order_relaxed) + n, std::memory_order_relaxed);
  }

  DecisionTotals& totals_;
  std::vector<std::string> ids_;     // changed only with totals_.mutex_ held
  std::unique_ptr<Cell[]> cells_;    // changed only with totals_.mutex_ held
  Cell no_policy_{0};
};

// The sum over all threads, past and present. Thread-safe.
class DecisionTotals {
 public:
  struct Sum {
    std::map<std::string, PolicyCounts> by_policy;
    std::uint64_t no_policy = 0;
  };
  Sum sum() const;

 private:
  friend class DecisionCounters;
  static void collect(const DecisionCounters& counters, Sum& into);

  mutable std::mutex mutex_;
  std::vector<DecisionCounters*> live_;  // guarded by mutex_
  Sum retired_;                          // guarded by mutex_: threads that ended, snapshots that passed
};

}  // namespace sluice

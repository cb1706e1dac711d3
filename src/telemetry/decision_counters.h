#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/limits.h"
#include "base/mutex.h"
#include "policy/snapshot/snapshot.h"

namespace sluice {

class DecisionTotals;

// Counters by policy index, `Width` of them for each. Blocks are allocated on first use and never move. One
// thread adds, any thread may read.
template <std::size_t Width>
class CounterBlocks {
 public:
  // Only one thread writes, so a load and a store are enough, and much cheaper than fetch_add.
  void add(std::uint32_t index, std::size_t field, std::uint64_t n) {
    std::atomic<Block*>& place = blocks_[index / kBlock];
    Block* block = place.load(std::memory_order_relaxed);
    if (!block) [[unlikely]]
      place.store(block = new Block(), std::memory_order_release);
    std::atomic<std::uint64_t>& cell = (*block)[index % kBlock][field];
    cell.store(cell.load(std::memory_order_relaxed) + n, std::memory_order_relaxed);
  }
  std::uint64_t get(std::uint32_t index, std::size_t field) const {
    const Block* block = blocks_[index / kBlock].load(std::memory_order_acquire);
    return block ? (*block)[index % kBlock][field].load(std::memory_order_relaxed) : 0;
  }
  // Only on the thread that adds.
  void clear(std::uint32_t index) {
    if (Block* const block = blocks_[index / kBlock].load(std::memory_order_relaxed))
      for (std::atomic<std::uint64_t>& cell : (*block)[index % kBlock])
        cell.store(0, std::memory_order_relaxed);
  }
  CounterBlocks() = default;
  ~CounterBlocks() {
    for (std::atomic<Block*>& block : blocks_) delete block.load(std::memory_order_relaxed);
  }
  CounterBlocks(const CounterBlocks&) = delete;
  CounterBlocks& operator=(const CounterBlocks&) = delete;

 private:
  static constexpr std::uint32_t kBlock = 256;
  using Block = std::array<std::array<std::atomic<std::uint64_t>, Width>, kBlock>;
  std::array<std::atomic<Block*>, PolicyIndexes::kMax / kBlock> blocks_{};
};

// One thread's counters of decisions, by policy and limit. Its own thread writes them without locks or shared
// cache lines; DecisionTotals reads them from any thread.
class DecisionCounters {
 public:
  enum Field : std::uint8_t {
    kAllowed,
    kDenied,
    kShadowDenied,
    kFailed,
    kUnitsConsumed,
    kUnitsGivenBack,  // requested; a counter never gives back more than it holds
    kRefundsRefused,
    kCompared,      // decided by a policy and, for comparison, by its candidate
    kNewlyDenied,   // of these, denied by the candidate only
    kNewlyAllowed,  // … by the policy only
    kFields
  };

  explicit DecisionCounters(DecisionTotals& totals);  // `totals` must outlive this
  ~DecisionCounters();
  DecisionCounters(const DecisionCounters&) = delete;
  DecisionCounters& operator=(const DecisionCounters&) = delete;

  // From now on policies have these indexes. Counts of indexes that were released meanwhile are added to
  // kWithdrawn.
  void rebind(const std::shared_ptr<PolicyIndexes>& indexes) {
    if (indexes != cells_->indexes) [[unlikely]]
      begin_anew(indexes);
    if (indexes->released() != cells_->released) [[unlikely]]
      forget_released();
  }

  // REQUIRES: the policy's index comes from the latest rebind().
  void add(const CompiledPolicy& policy, Field field, std::uint64_t n = 1) {
    cells_->policies.add(policy.index, field, n);
  }
  // A request lacked a dimension, so that limit was skipped.
  void add_dimension_missing(const CompiledPolicy& policy, const CompiledLimit& limit) {
    cells_->limits.add(policy.index, limit.index, 1);
  }
  void add_no_policy() { add_one(no_policy_); }
  // A check named a tier that no policy knows.
  void add_unknown_tier() { add_one(unknown_tier_); }
  // No policy matched, and some policies may not be known yet.
  void add_unknown(bool allowed) { add_one(allowed ? unknown_allowed_ : unknown_denied_); }
  // The big red switch let it pass.
  void add_switched() { add_one(switched_); }

 private:
  friend class DecisionTotals;
  struct Cells {
    std::shared_ptr<PolicyIndexes> indexes;  // null: nothing was counted
    // Indexes released after this one still count for their previous policy. Changed only with totals_.mutex_
    // held.
    std::uint64_t released = 0;
    CounterBlocks<kFields> policies;
    CounterBlocks<kLimitsPerPolicyMax> limits;  // skipped limits
  };
  static void add_one(std::atomic<std::uint64_t>& counter) {
    counter.store(counter.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  }
  void begin_anew(const std::shared_ptr<PolicyIndexes>& indexes);
  void forget_released();

  DecisionTotals& totals_;
  std::unique_ptr<Cells> cells_;  // replaced only with totals_.mutex_ held
  std::atomic<std::uint64_t> no_policy_{0};
  std::atomic<std::uint64_t> unknown_allowed_{0};
  std::atomic<std::uint64_t> unknown_denied_{0};
  std::atomic<std::uint64_t> switched_{0};
  std::atomic<std::uint64_t> unknown_tier_{0};
};

// The sum over all threads, past and present. Thread-safe.
class DecisionTotals {
 public:
  // Stands for all policies that were withdrawn so long ago that their names are forgotten. No policy can
  // have this name.
  static constexpr std::string_view kWithdrawn = "(withdrawn)";

  struct PolicySum {
    std::uint64_t fields[DecisionCounters::kFields] = {};
    std::uint64_t candidate[DecisionCounters::kFields] = {};  // of these, decided by candidates
    std::map<std::string, std::uint64_t> dimension_missing;   // by limit; only those above 0
    OnFailure on_failure = OnFailure::kOpen;                  // of its latest version
  };
  struct Sum {
    std::map<std::string, PolicySum> by_policy;
    std::uint64_t no_policy = 0;
    std::uint64_t unknown_allowed = 0, unknown_denied = 0;
    std::uint64_t switched = 0;
    std::uint64_t unknown_tier = 0;
  };
  Sum sum();
  // The sum of one policy, without adding up all others.
  PolicySum sum_of(const CompiledPolicy& policy);

 private:
  friend class DecisionCounters;
  static void collect(const DecisionCounters& counters, Sum& into);
  static void collect(const DecisionCounters::Cells& cells, Sum& into);
  static void collect(const DecisionCounters::Cells& cells, const CompiledPolicy& policy, PolicySum& into);
  static void collect_withdrawn(const DecisionCounters::Cells& cells, std::uint32_t index, Sum& into);

  Mutex mutex_;
  std::vector<const DecisionCounters*> live_ SLUICE_GUARDED_BY(mutex_);
  Sum past_ SLUICE_GUARDED_BY(mutex_);  // of threads that ended
};

}  // namespace sluice

#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/interned.h"
#include "base/limits.h"
#include "base/mutex.h"
#include "policy/snapshot/snapshot.h"
#include "telemetry/check_meter.h"

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
  // REQUIRES: something was added to this index before, if only 0.
  void set(std::uint32_t index, std::size_t field, std::uint64_t value) {
    Block* const block = blocks_[index / kBlock].load(std::memory_order_relaxed);
    (*block)[index % kBlock][field].store(value, std::memory_order_relaxed);
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
    kUnitsDenied,
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

  // Of one limit.
  enum LimitField : std::uint8_t {
    kPassed,      // checks that it let pass, and that were allowed
    kPassedNear,  // of these, those after which it was near its limit
    kStopped,     // checks that were denied because of it
    kLimitFields
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
  // The counts of limits and owners that follow belong to this version of the policy.
  // REQUIRES: as add(); called before the first add() of a check.
  void turn_to(const CompiledPolicy& policy) {
    if (cells_->near_limits.get(policy.index, 0) != version_mark(policy)) [[unlikely]]
      begin_version(policy);
  }
  // REQUIRES: the latest turn_to() with this index was for this policy.
  void add_limit(const CompiledPolicy& policy, const CompiledLimit& limit, LimitField field) {
    if (limit.index < kNearLimits) [[likely]]
      cells_->near_limits.add(policy.index, near_place(limit.index, field), 1);
    else
      cells_->far_limits.add(policy.index, far_place(limit.index, field), 1);
  }
  // How much a limit has left for the key that was looked at last.
  struct Level {
    std::uint32_t limit = 0;  // position in the policy
    std::int64_t capacity = 0, remaining = 0;
    std::int64_t at_us = 0;
  };
  void note_level(const CompiledPolicy& policy, const Level& level);

  CheckMeter& meter() { return meter_; }

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
  static constexpr std::size_t kNearLimits = 2;
  static constexpr std::size_t near_place(std::size_t limit, LimitField field) {
    return 1 + limit * kLimitFields + field;
  }
  static constexpr std::size_t far_place(std::size_t limit, LimitField field) {
    return (limit - kNearLimits) * kLimitFields + field;
  }
  // Never 0: nothing was counted.
  static std::uint64_t version_mark(const CompiledPolicy& policy) {
    return static_cast<std::uint64_t>(policy.source.version) + 1;
  }
  // A version of a policy that this thread has counted.
  struct Version {
    std::string policy;
    std::int64_t number = 0;
    Interned<std::vector<std::string>> names;             // the owner, then the limits
    std::uint64_t allowed_before = 0, denied_before = 0;  // by earlier versions, which had other owners
  };
  struct Cells {
    std::shared_ptr<PolicyIndexes> indexes;  // null: nothing was counted
    // Indexes released after this one still count for their previous policy. Changed only with totals_.mutex_
    // held.
    std::uint64_t released = 0;
    CounterBlocks<kFields> policies;
    CounterBlocks<kLimitsPerPolicyMax> limits;  // skipped limits
    // Most policies have one or two limits: those are in one cache line, with the version they belong to.
    CounterBlocks<1 + kNearLimits * kLimitFields> near_limits;
    CounterBlocks<(kLimitsPerPolicyMax - kNearLimits) * kLimitFields> far_limits;
    CounterBlocks<4> levels;  // fields of Level
    // By index: what the counts of its version are called. Used only with totals_.mutex_ held.
    std::unordered_map<std::uint32_t, Version> versions;

    std::uint64_t of_limit(std::uint32_t index, std::size_t limit, LimitField field) const {
      return limit < kNearLimits ? near_limits.get(index, near_place(limit, field))
                                 : far_limits.get(index, far_place(limit, field));
    }
  };
  static void add_one(std::atomic<std::uint64_t>& counter) {
    counter.store(counter.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  }
  void begin_anew(const std::shared_ptr<PolicyIndexes>& indexes);
  void forget_released();
  void begin_version(const CompiledPolicy& policy);

  DecisionTotals& totals_;
  CheckMeter meter_;
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

  struct LimitSum {
    std::uint64_t fields[DecisionCounters::kLimitFields] = {};
  };
  struct OwnerSum {
    std::uint64_t allowed = 0, denied = 0;
  };
  struct PolicySum {
    std::uint64_t fields[DecisionCounters::kFields] = {};
    std::uint64_t candidate[DecisionCounters::kFields] = {};           // of these, decided by candidates
    std::map<std::string, std::uint64_t> dimension_missing;            // by limit; only those above 0
    std::map<std::int64_t, std::map<std::string, LimitSum>> versions;  // by number and limit; 0: older ones
    std::optional<DecisionCounters::Level> level;                      // the latest
    std::string level_limit;                                           // its name
    OnFailure on_failure = OnFailure::kOpen;                           // of its latest version
  };
  struct Sum {
    std::map<std::string, PolicySum> by_policy;
    std::map<std::string, OwnerSum> by_owner;  // as it was when the check was decided
    CheckMeter::Sum checks;
    std::array<std::uint64_t, kLimitsPerPolicyMax>
        denied_by_index{};  // by the limit's position in its policy
    std::uint64_t no_policy = 0;
    std::uint64_t unknown_allowed = 0, unknown_denied = 0;
    std::uint64_t switched = 0;
    std::uint64_t unknown_tier = 0;
  };
  Sum sum();

  struct Counts {
    std::uint64_t allowed = 0, denied = 0, failed = 0;
    Counts& operator+=(const Counts& other);
  };
  struct Busiest {
    std::vector<std::pair<std::string, Counts>> policies;  // by id
    Counts all;                                            // of all policies, withdrawn ones included
    std::uint64_t no_policy = 0;
    CheckMeter::Sum checks;
  };
  // The policies with the most checks since the start, at most so many. Costs much less than sum(), and grows
  // with the policies that have been checked.
  Busiest busiest(std::size_t most);
  // The sum of one policy, without adding up all others.
  PolicySum sum_of(const CompiledPolicy& policy);

 private:
  friend class DecisionCounters;
  static void collect(const DecisionCounters& counters, Sum& into);
  static void collect(const DecisionCounters::Cells& cells, Sum& into);
  static void collect(const DecisionCounters::Cells& cells, const CompiledPolicy& policy, PolicySum& into);
  // What was counted for the version that the index has in these cells.
  static void collect_version(const DecisionCounters::Cells& cells, std::uint32_t index, Sum& into);
  static void collect_owner(const DecisionCounters::Cells& cells, std::uint32_t index, Sum& into);
  static void collect_level(const DecisionCounters::Cells& cells, const CompiledPolicy& policy,
                            PolicySum& into);
  static void collect_withdrawn(const DecisionCounters::Cells& cells, std::uint32_t index, Sum& into);

  Mutex mutex_;
  std::vector<const DecisionCounters*> live_ SLUICE_GUARDED_BY(mutex_);
  Sum past_ SLUICE_GUARDED_BY(mutex_);  // of threads that ended
};

}  // namespace sluice

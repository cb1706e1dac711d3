#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/limits.h"
#include "policy/compiled.h"

namespace sluice {

// Gives every policy a small number, so that counters of decisions are an array and survive changes of the
// policies. Thread-safe. Snapshots that come from one another share it.
//
// A policy that is withdrawn keeps its number for a while, in case it comes back; then others get it. So
// there are enough of them, however many policies come and go. What was counted under a number before it was
// given up is none of its next owner's: see DecisionCounters.
class PolicyNumbers {
 public:
  static constexpr std::uint32_t kMax = 1u << 22;
  // Policies in force. Each may have a candidate, and while all are exchanged for others, both have numbers;
  // a few are the process's own.
  static constexpr std::uint32_t kInForceMax = kMax / 4 - 16;

  // When twice as many are withdrawn as are kept, the older half gives its numbers up. (Both are smaller only
  // in tests.)
  explicit PolicyNumbers(std::size_t withdrawn_kept = kWithdrawnNumbersKept,
                         std::size_t in_force_max = kInForceMax)
      : withdrawn_kept_(withdrawn_kept), in_force_max_(in_force_max) {}

  std::size_t in_force_max() const { return in_force_max_; }

  // A number for a policy, or a candidate of one, that is not in force: the one it had before, if it still
  // has it. REQUIRES: note() follows; there are at most in_force_max() policies.
  std::uint32_t take(const CompiledPolicy& policy);
  // The policy of this number is this now. REQUIRES: policy->number came from take().
  void note(std::shared_ptr<const CompiledPolicy> policy);
  void withdraw(std::uint32_t number);

  struct Known {
    std::shared_ptr<const CompiledPolicy> policy;  // of one that was withdrawn only its names; null: nobody's
    std::uint64_t given_up = 0;                    // the how manieth that was, the last time; 0: never
  };
  // The latest policy of every number, the number being the position.
  std::vector<Known> all() const;
  // When the number was given up last, as Known has it; 0 if there is no such number.
  std::uint64_t given_up(std::uint32_t number) const;
  // How often numbers were given up so far.
  std::uint64_t given_up() const { return given_up_.load(std::memory_order_acquire); }

 private:
  struct Withdrawn {
    std::uint32_t number = 0;
    std::uint64_t since = 0;
  };

  void give_up_oldest(std::size_t count);  // with mutex_ held

  const std::size_t withdrawn_kept_;
  const std::size_t in_force_max_;
  std::atomic<std::uint64_t> given_up_{0};
  mutable std::mutex mutex_;
  std::vector<Known> known_;                              // guarded by mutex_
  std::vector<std::uint32_t> free_;                       // guarded by mutex_
  std::unordered_map<std::string, Withdrawn> withdrawn_;  // by name_of(); guarded by mutex_
  std::map<std::uint64_t, std::string> by_age_;           // of withdrawn_; guarded by mutex_
  std::uint64_t withdrawals_ = 0;                         // guarded by mutex_
};

}  // namespace sluice

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
#include "policy/snapshot/compiled.h"

namespace sluice {

// Gives every policy a small number, so that decision counters are an array and survive policy changes.
// Thread-safe. Snapshots derived from one another share it.
//
// A withdrawn policy keeps its number for a while, in case it comes back. Then the number is reused, so the
// numbers never run out, however many policies come and go. Counts made under a number before it was released
// do not belong to its next owner: see DecisionCounters.
class PolicyNumbers {
 public:
  static constexpr std::uint32_t kMax = 1u << 22;
  // The most policies in force. Each may have a candidate, and while all are replaced by others, both sets
  // have numbers; the process itself uses a few.
  static constexpr std::uint32_t kInForceMax = kMax / 4 - 16;

  // When twice `withdrawn_kept` policies are withdrawn, the older half release their numbers. (Only tests
  // pass smaller values.)
  explicit PolicyNumbers(std::size_t withdrawn_kept = kWithdrawnNumbersKept,
                         std::size_t in_force_max = kInForceMax)
      : withdrawn_kept_(withdrawn_kept), in_force_max_(in_force_max) {}

  std::size_t in_force_max() const { return in_force_max_; }

  // A number for a policy, or for a candidate, that is not in force: its earlier number, if it still has it.
  // REQUIRES: note() follows; there are at most in_force_max() policies.
  std::uint32_t take(const CompiledPolicy& policy);
  // Records the policy that now has this number. REQUIRES: policy->number came from take().
  void note(std::shared_ptr<const CompiledPolicy> policy);
  void withdraw(std::uint32_t number);

  struct Known {
    std::shared_ptr<const CompiledPolicy> policy;  // for a withdrawn policy, only its names; null: unused
    std::uint64_t given_up = 0;                    // given_up() at the latest release; 0: never released
  };
  // The latest policy of every number; the index is the number.
  std::vector<Known> all() const;
  // When the number was last released, as in Known; 0 if there is no such number.
  std::uint64_t given_up(std::uint32_t number) const;
  // How many times numbers were released so far.
  std::uint64_t given_up() const { return given_up_.load(std::memory_order_acquire); }

 private:
  struct Withdrawn {
    std::uint32_t number = 0;
    std::uint64_t since = 0;
  };

  void give_up_oldest(std::size_t count);  // REQUIRES: mutex_ is held

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

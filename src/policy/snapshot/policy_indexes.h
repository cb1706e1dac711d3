#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/limits.h"
#include "base/mutex.h"
#include "policy/snapshot/compiled.h"

namespace sluice {

// Gives every policy a small index, so that decision counters are an array and survive policy changes.
// Thread-safe. Snapshots derived from one another share it.
//
// A withdrawn policy keeps its index for a while, in case it comes back. Then the index is reused, so the
// indexes never run out, however many policies come and go. Counts made under an index before it was released
// do not belong to its next owner: see DecisionCounters.
class PolicyIndexes {
 public:
  static constexpr std::uint32_t kMax = 1u << 22;
  // The most policies in force. Each may have a candidate, and while all are replaced by others, both sets
  // have indexes; the process itself uses a few.
  static constexpr std::uint32_t kInForceMax = kMax / 4 - 16;

  // When twice `withdrawn_kept` policies are withdrawn, the older half release their indexes. (Only tests
  // pass smaller values.)
  explicit PolicyIndexes(std::size_t withdrawn_kept = kWithdrawnIndexesKept,
                         std::size_t in_force_max = kInForceMax)
      : withdrawn_kept_(withdrawn_kept), in_force_max_(in_force_max) {}

  std::size_t in_force_max() const { return in_force_max_; }

  // An index for a policy, or for a candidate, that is not in force: its earlier index, if it still has it.
  // REQUIRES: note() follows; there are at most in_force_max() policies.
  std::uint32_t take(const CompiledPolicy& policy);
  // Records the policy that now has this index. REQUIRES: policy->index came from take().
  void note(std::shared_ptr<const CompiledPolicy> policy);
  void withdraw(std::uint32_t index);

  struct Known {
    std::shared_ptr<const CompiledPolicy> policy;  // for a withdrawn policy, only its names; null: unused
    std::uint64_t released = 0;                    // released() at the latest release; 0: never released
  };
  // The latest policy of every index; they are in the order of the indexes.
  std::vector<Known> all() const;
  // When the index was last released, as in Known; 0 if there is no such index.
  std::uint64_t released(std::uint32_t index) const;
  // How many times indexes were released so far.
  std::uint64_t released() const { return released_.load(std::memory_order_acquire); }

 private:
  struct Withdrawn {
    std::uint32_t index = 0;
    std::uint64_t since = 0;
  };

  void release_oldest(std::size_t count) SLUICE_REQUIRES(mutex_);

  const std::size_t withdrawn_kept_;
  const std::size_t in_force_max_;
  std::atomic<std::uint64_t> released_{0};
  mutable Mutex mutex_;
  std::vector<Known> known_ SLUICE_GUARDED_BY(mutex_);
  std::vector<std::uint32_t> free_ SLUICE_GUARDED_BY(mutex_);
  std::unordered_map<std::string, Withdrawn> withdrawn_ SLUICE_GUARDED_BY(mutex_);  // by name_of()
  std::map<std::uint64_t, std::string> by_age_ SLUICE_GUARDED_BY(mutex_);           // of withdrawn_
  std::uint64_t withdrawals_ SLUICE_GUARDED_BY(mutex_) = 0;
};

}  // namespace sluice

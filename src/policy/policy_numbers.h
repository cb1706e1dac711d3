#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "policy/compiled.h"

namespace sluice {

// Gives every policy a small number for the life of the process, so that counters of decisions are an array
// and survive changes of the policies. Thread-safe. Snapshots that come from one another share it.
//
// A policy that is withdrawn keeps its number, in case it comes back.
class PolicyNumbers {
 public:
  static constexpr std::uint32_t kMax = 1u << 20;

  // A number for a policy, or a candidate of one, that is not in force: the one it had before if it had one.
  // kMax: there are too many.
  std::uint32_t take(const CompiledPolicy& policy);
  // The policy of this number is this now. REQUIRES: policy->number came from take().
  void note(std::shared_ptr<const CompiledPolicy> policy);
  void withdraw(std::uint32_t number);

  // The latest policy of every number, the number being the position; of a policy that was withdrawn only its
  // names. Null: the number was taken, but not used.
  std::vector<std::shared_ptr<const CompiledPolicy>> all() const;

 private:
  mutable std::mutex mutex_;
  std::vector<std::shared_ptr<const CompiledPolicy>> known_;  // guarded by mutex_
  std::unordered_map<std::string, std::uint32_t> withdrawn_;  // by name_of(); guarded by mutex_
};

}  // namespace sluice

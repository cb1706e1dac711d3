#pragma once

#include <cstdint>
#include <memory>

#include "base/error.h"
#include "policy/compiled.h"

// A version of a policy on its way into force, beside the one that is. It decides for a share of the keys;
// for the others it can be asked for comparison. Which keys these are is decided in engine/rollout.h.
namespace sluice {

struct Candidate {
  // Applies to the same requests as the policy in force: tenant, resource, `always` and `rollout` are equal.
  // Its version is that of the policy in force.
  Policy policy;
  int percent = 0;              // of the keys
  bool compare = false;         // where the policy in force decides, the candidate is asked, too
  std::int64_t started_us = 0;  // candidates of different rollouts are compared on different counters
};

// A candidate ready for the hot path. Immutable once its snapshot is made; thread-safe.
class CompiledCandidate {
 public:
  // Both versions charge the same counters, so that what was used stays used, whichever way a key goes.
  const CompiledPolicy& policy() const { return *policy_; }
  // The same on counters of its own; null: it is not to be compared.
  const CompiledPolicy* comparison() const { return comparison_.get(); }
  unsigned percent() const { return percent_; }

  // Of the counters of its decisions, which are counted apart. Only for the maker of its snapshot.
  void give_number(std::uint32_t number);
  std::shared_ptr<const CompiledPolicy> pointer() const { return policy_; }

 private:
  friend Result<std::shared_ptr<CompiledCandidate>> add_candidate(CompiledPolicy& policy, Candidate candidate,
                                                                  ParamsTable& params,
                                                                  const CompileOptions& options);
  std::shared_ptr<CompiledPolicy> policy_;
  std::shared_ptr<CompiledPolicy> comparison_;
  unsigned percent_ = 0;
};

// Makes it the candidate of `policy`, which is not in force yet; the two then know each other's numbers.
// kStale: it was made for another version. Else fails as compile_policy() does, and if it would apply to
// other requests.
Result<std::shared_ptr<CompiledCandidate>> add_candidate(CompiledPolicy& policy, Candidate candidate,
                                                         ParamsTable& params, const CompileOptions& options);

// Of the policy and its candidate, those that are (not) in shadow: the one with most limits. Null: none is.
const Policy* largest_version(const CompiledPolicy& policy, bool shadow);

}  // namespace sluice

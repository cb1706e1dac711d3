#pragma once

#include <cstdint>
#include <memory>

#include "base/error.h"
#include "policy/snapshot/compiled.h"

// A candidate is a new version of a policy during its rollout, beside the version in force. It decides for a
// share of the keys; for the other keys it can be evaluated for comparison. engine/planner/rollout.h decides
// which keys these are.
namespace sluice {

struct Candidate {
  // Applies to the same requests as the policy in force: tenant, resource, `always` and `rollout` are equal.
  // Its version number is that of the policy in force.
  Policy policy;
  int percent = 0;              // share of the keys that it decides for
  bool compare = false;         // where the policy in force decides, the candidate is evaluated, too
  std::int64_t started_us = 0;  // candidates of different rollouts use different comparison counters
};

// A candidate ready for the hot path. Immutable once its snapshot is built; thread-safe.
class CompiledCandidate {
 public:
  // Both versions charge the same counters, so usage is kept whichever version decides for a key.
  const CompiledPolicy& policy() const { return *policy_; }
  // The same policy on its own counters; null: it is not compared.
  const CompiledPolicy* comparison() const { return comparison_.get(); }
  unsigned percent() const { return percent_; }

  // Sets the index under which its decisions are counted, separately. Only for the builder of its snapshot.
  void give_index(std::uint32_t index);
  std::shared_ptr<const CompiledPolicy> pointer() const { return policy_; }

 private:
  friend Result<std::shared_ptr<CompiledCandidate>> add_candidate(CompiledPolicy& policy, Candidate candidate,
                                                                  ParamsDraft& params,
                                                                  const CompileOptions& options);
  std::shared_ptr<CompiledPolicy> policy_;
  std::shared_ptr<CompiledPolicy> comparison_;
  unsigned percent_ = 0;
};

// Makes it the candidate of `policy`, which is not in force yet; `policy` then points to it. kStale:
// it was made for another version. Otherwise fails as compile_policy() does, and if it would apply to other
// requests.
Result<std::shared_ptr<CompiledCandidate>> add_candidate(CompiledPolicy& policy, Candidate candidate,
                                                         ParamsDraft& params, const CompileOptions& options);

// The policy or its candidate, whichever has more limits, considering only those whose shadow flag is
// `shadow`. Null: neither.
const Policy* largest_version(const CompiledPolicy& policy, bool shadow);

}  // namespace sluice

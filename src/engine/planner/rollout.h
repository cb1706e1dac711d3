#pragma once

#include "base/clock.h"
#include "engine/request/check_request.h"
#include "policy/snapshot/snapshot.h"

namespace sluice {

// Whether a policy under rollout applies to this request: from `valid_from` on, and to `percent` of the keys.
// The share is chosen by a hash that is the same on every node and for ever, so a key never flips back and
// forth, and a key that is included at 1 % is included at 10 %. Lives on the stack of one check.
class KeyRollout final : public RolloutFilter {
 public:
  KeyRollout(const Dimensions& dimensions, const Clock& clock) : dimensions_(dimensions), clock_(clock) {}
  bool applies(const CompiledPolicy& policy) const override;

 private:
  const Dimensions& dimensions_;
  const Clock& clock_;
};

// Whether a percentage can be applied to this request: it has the dimensions of the policy's first limit,
// which make the key. Requests without a key wait for 100 %.
bool can_be_shared_out(const CompiledPolicy& policy, const Dimensions& dimensions);

// Whether the candidate of a policy decides for this request. The share of keys is chosen in the same way but
// by another hash, so that it is independent of the share to which the policy applies.
// REQUIRES: the policy has a candidate.
bool candidate_decides(const CompiledPolicy& policy, const Dimensions& dimensions);

}  // namespace sluice

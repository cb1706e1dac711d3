#pragma once

#include "base/clock.h"
#include "engine/check_request.h"
#include "policy/snapshot.h"

namespace sluice {

// Whether a policy under rollout applies to this request: from `valid_from` on, and to the share of keys that
// `percent` says. The share is taken by a hash that is the same on every node and for ever, so a key never
// flips back and forth, and a key that is in at 1 % is in at 10 %. Lives on the stack of one check.
class KeyRollout final : public RolloutFilter {
 public:
  KeyRollout(const Dimensions& dimensions, const Clock& clock) : dimensions_(dimensions), clock_(clock) {}
  bool applies(const CompiledPolicy& policy) const override;

 private:
  const Dimensions& dimensions_;
  const Clock& clock_;
};

}  // namespace sluice

#pragma once

#include <array>

#include "base/limits.h"
#include "engine/decision.h"
#include "engine/explain.h"
#include "store/store.h"

namespace sluice {

// Decides when the store does not answer: the one place that knows what "no answer" becomes. Not thread-safe:
// one per thread.
//
// Each policy says it with `on_failure`: open allows, closed denies, local asks counters in this process,
// with smaller numbers. Where several policies apply, all must allow.
class FailureRule {
 public:
  // `local` keeps the counters of `on_failure: local`. Null: such policies are closed.
  explicit FailureRule(Store* local) : local_(local) {}

  // REQUIRES: enforced.verdict is kNoAnswer, and it has limits; `decision` is new. It will point into this
  // object, until the next call.
  void decide(const Answered& enforced, Decision& decision);

  // Of several checks that decide() has decided together: whether the rules of these limits, which belong to
  // one of them, let it pass. `together`: what decide() came to.
  bool allows(std::span<const LimitStatus> limits, const Decision& together) const;

 private:
  Verdict ask_local(const Answered& enforced, Decision& decision);

  Store* const local_;
  std::array<Charge, kLimitsPerCheckMax> charges_;
  std::array<ChargeResult, kLimitsPerCheckMax> results_;
  std::array<LimitStatus, kLimitsPerCheckMax> limits_;
};

}  // namespace sluice

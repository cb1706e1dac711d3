#pragma once

#include <array>

#include "base/limits.h"
#include "engine/decision/decision.h"
#include "engine/decision/explain.h"
#include "store/memory/counters.h"
#include "store/store.h"

namespace sluice {

// Decides when the store does not: the one place that handles "no answer" and "no room". Not thread-safe: one
// per thread.
//
// Each policy chooses with `on_failure`: open allows, closed denies, local uses counters in this process,
// with smaller numbers. If several policies apply, all must allow. If there is no room for a local counter
// either, local denies: without a count nothing is limited. The same applies if the store itself is this
// process's memory and is full.
class FailureRule {
 public:
  // `local` holds the counters of `on_failure: local`. Null: such policies fail closed.
  explicit FailureRule(Counters* local) : local_(local) {}

  // `is_local`: the store that gave no answer keeps its counters among the local ones. Then these must not be
  // charged under the numbers of `local`. REQUIRES: !is_answer(enforced.verdict), and it has limits;
  // `decision` is new. The decision points into this object until the next call.
  void decide(const Answered& enforced, bool is_local, Decision& decision);

  // How long the store may take before decide() is called. No limit is lifted before its policy's deadline,
  // so the longest one counts; but a policy that fails closed denies at its own, whatever the others say.
  // REQUIRES: there are limits.
  static std::int64_t store_time_us(std::span<const LimitStatus> limits);

  // What decide() would decide, as far as that is known in advance.
  static StoreCall::WithoutAnswer without_answer(std::span<const LimitStatus> limits);

  // For a store that does not answer because the tenant is being moved to another. No failure rule applies:
  // nothing failed, and what was used still counts. REQUIRES: as decide().
  static void refuse(const Answered& enforced, Decision& decision);

  // After decide() for several checks together: whether the rules of these limits, which belong to one of the
  // checks, allow it. `together`: the result of decide().
  bool allows(std::span<const LimitStatus> limits, const Decision& together) const;

 private:
  Verdict ask_local(const Answered& enforced, Decision& decision);

  Counters* const local_;
  // Local counters made the latest decision, or would have.
  bool local_counts_ = false;
  std::array<Charge, kLimitsPerCheckMax> charges_;
  std::array<ChargeResult, kLimitsPerCheckMax> results_;
  std::array<LimitStatus, kLimitsPerCheckMax> limits_;
};

}  // namespace sluice

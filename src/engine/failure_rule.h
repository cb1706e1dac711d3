#pragma once

#include <array>

#include "base/limits.h"
#include "engine/decision.h"
#include "engine/explain.h"
#include "store/async_store.h"

namespace sluice {

// Decides when the store does not: the one place that knows what "no answer" and "no room" become. Not
// thread-safe: one per thread.
//
// Each policy says it with `on_failure`: open allows, closed denies, local asks counters in this process,
// with smaller numbers. Where several policies apply, all must allow. Where no local counter can be kept
// either, local denies: without a count nothing is limited. So it does when the store itself has no room and
// is this process's memory.
class FailureRule {
 public:
  // `local` keeps the counters of `on_failure: local`. Null: such policies are closed. `is_the_store`: so it
  // does those of checks.
  FailureRule(Store* local, bool is_the_store) : local_(local), is_the_store_(is_the_store) {}

  // REQUIRES: !is_answer(enforced.verdict), and it has limits; `decision` is new. It will point into this
  // object, until the next call.
  void decide(const Answered& enforced, Decision& decision);

  // What decide() would come to, as far as that is known before it is asked.
  static StoreCall::WithoutAnswer without_answer(std::span<const LimitStatus> limits);

  // The store does not answer because the tenant is on its way to another. No rule speaks: nothing failed,
  // and what was used still counts. REQUIRES: as decide().
  static void refuse(const Answered& enforced, Decision& decision);

  // Of several checks that decide() has decided together: whether the rules of these limits, which belong to
  // one of them, let it pass. `together`: what decide() came to.
  bool allows(std::span<const LimitStatus> limits, const Decision& together) const;

 private:
  Verdict ask_local(const Answered& enforced, Decision& decision);

  Store* const local_;
  const bool is_the_store_;
  bool local_counts_ = false;  // of the latest decision: local counters decided, or would have
  std::array<Charge, kLimitsPerCheckMax> charges_;
  std::array<ChargeResult, kLimitsPerCheckMax> results_;
  std::array<LimitStatus, kLimitsPerCheckMax> limits_;
};

}  // namespace sluice

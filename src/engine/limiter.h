#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "base/clock.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/limits.h"
#include "engine/check_request.h"
#include "engine/decision.h"
#include "policy/repository.h"
#include "store/store.h"
#include "telemetry/decision_counters.h"

namespace sluice {

// Decides checks: match policies → make keys → charge the store → explain. Not thread-safe: one per thread.
// All of them share the store, the policies and the hasher, which must outlive them. Allocates nothing once
// warm.
//
//   Limiter limiter({store, board, hasher, clock, totals});
//   auto decision = limiter.check({.tenant = "search-service", .resource = "/search", .key = "user_123"});
//   if (!decision) return report(decision.error());   // nothing was charged
//   if (!decision->allowed) sleep_ms(decision->retry_after_ms());
class Limiter {
 public:
  struct Parts {
    Store& store;
    const PolicyBoard& policies;
    const KeyHasher& hasher;
    const Clock& clock;  // for `valid_from` only: the store's clock decides
    DecisionTotals& totals;
  };
  explicit Limiter(const Parts& parts);

  // Errors: kPolicyNotFound; kInvalidArgument for a field out of bounds or a required dimension that is
  // absent. An error charges nothing.
  Result<Decision> check(const CheckRequest& request);

  // Errors that check() would report for this request, without charging: for batches, which are refused as a
  // whole.
  Result<void> validate(const CheckRequest& request);

  // Looks without charging. A request without any limit gets an answer without limits.
  Result<Decision> usage(const CheckRequest& request);

  // Forgets the counters that a check of this request would charge; returns how many there were.
  Result<int> reset(const CheckRequest& request);

 private:
  // Fills plan_ with every limit that applies. Counts what it skips only if `count_skipped`.
  Result<void> plan(const CheckRequest& request, bool count_skipped);
  void match_route(const Dimensions& dimensions);
  Result<void> match_named(const CheckRequest& request, const Dimensions& dimensions);
  Result<void> plan_policy(const CheckRequest& request, const Dimensions& dimensions,
                           const CompiledPolicy& policy, bool count_skipped);
  void refresh_snapshot() {
    if (parts_.policies.generation() != generation_) [[unlikely]]
      load_snapshot();
  }
  void load_snapshot();

  // Charges the enforced limits or the shadow ones of the plan.
  struct Applied {
    Verdict verdict = Verdict::kAllowed;
    std::span<LimitStatus> limits;
  };
  Applied apply(bool shadow, std::int64_t& now_us);
  Decision decide(const Applied& enforced, std::int64_t now_us) const;
  void add_shadow(const Applied& shadow, Decision& decision);
  void count(const Applied& enforced, const Decision& decision);

  Parts parts_;
  DecisionCounters counters_;
  std::shared_ptr<const Snapshot> snapshot_;
  std::uint64_t generation_;

  // Scratch, reused by every call. Arrays, whose elements are filled in where they stand: that is measurably
  // cheaper than a vector, into which they would be copied.
  struct Plan {
    std::size_t size = 0;
    std::array<Charge, kLimitsPerCheckMax> charges;
    std::array<ChargeResult, kLimitsPerCheckMax> results;
    std::array<LimitStatus, kLimitsPerCheckMax> limits;  // parallel to charges
  };
  Matches matches_;
  // Callers ask about the same route again and again, and comparing two names is cheaper than hashing them:
  // while `tenant` and `resource` stay the same, so does matches_.
  struct Memo {
    bool valid = false;
    std::string tenant;
    std::string resource;
  };
  Memo memo_;
  Plan plan_[2];  // enforced, shadow
};

}  // namespace sluice

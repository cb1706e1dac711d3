#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "policy/snapshot/snapshot.h"
#include "store/charge.h"

namespace sluice {

enum class Reason : std::uint8_t {
  kOk,
  kLimited,           // a limit has no room for the cost now
  kTooLarge,          // the cost is larger than a limit will ever hold
  kNoPolicy,          // allowed: no policy matches this request
  kNoLimit,           // allowed: every limit was skipped for lack of a dimension
  kShadow,            // allowed: a shadow policy would have denied
  kStoreUnavailable,  // the policy's failure rule decided
  kStoreFull,         // likewise: the store has no memory left to count this check
  kSwitch,            // the big red switch is open
  kTenantMoving,      // denied: the tenant's counters are being moved to another store
  kPoliciesUnknown,   // the policies could not be read yet: --before-policies decided
};

// The warning for a tier that no policy knows.
inline constexpr std::string_view kUnknownTierWarning =
    "tier: no policy has the tier that this check names; the default limits were applied";

std::string_view to_string(Reason reason);      // "ok", "limited", "never", …
std::string_view to_string(Pressure pressure);  // "normal", "warning", "throttled"

// One limit's part in a decision.
struct LimitStatus {
  const CompiledPolicy* policy = nullptr;
  const CompiledLimit* limit = nullptr;
  const LimitParams* numbers = nullptr;  // the limit's, or those of the user's override
  const ChargeResult* result = nullptr;  // not owned: where the store wrote it

  // Limit 10, 6 used: current is 6.
  std::int64_t current() const { return numbers->capacity - result->outcome.remaining; }
  // A tenant-scoped token may change such a counter only by checks.
  bool counts_several_tenants() const { return !limit->by_tenant; }
};

// The retry delay for a denial when no limit gives one.
inline constexpr std::int64_t kRetryBlindlyAfterMs = 1000;

// The answer to a check, and the reason. Not thread-safe: it points into the Engine that gave it, and is
// valid until that Engine's next call.
//
// A limit of 10/s with 6 used and a cost of 1: allowed, tightest->current() 7, remaining 3, retry_after_us 0.
struct Decision {
  bool allowed = true;
  Reason reason = Reason::kOk;
  bool degraded = false;
  bool replayed = false;
  // 1: the check named a tier that no policy knows. These two fill the space before `cost`, so that they are
  // initialized together with the fields before them.
  std::uint16_t unknown_tier = 0;
  std::uint16_t lease_advised = 0;  // 1: the key is so busy that its callers should lease units
  std::int64_t cost = 1;
  std::int64_t now_us = 0;  // time of the decision on the store's clock
  // Least remaining or, if denied, the longest wait. Null: no limit applied.
  const LimitStatus* tightest = nullptr;
  // Every limit that applied. Those of shadow policies only if no others applied.
  std::span<const LimitStatus> limits;
  // The policy of `tightest`, else the first that matched. Null: none matched.
  const CompiledPolicy* policy = nullptr;

  std::int64_t limit() const { return tightest ? tightest->numbers->capacity : -1; }
  std::int64_t remaining() const { return tightest ? tightest->result->outcome.remaining : -1; }
  std::int64_t current() const { return tightest ? tightest->current() : 0; }
  Pressure pressure() const { return tightest ? tightest->result->pressure : Pressure::kNormal; }
  // 0 if allowed, -1 if the cost can never fit. If no limit was evaluated, for example because the store is
  // unreachable and the policy fails closed, an estimate.
  std::int64_t retry_after_ms() const {
    if (allowed) return 0;
    if (!tightest) return kRetryBlindlyAfterMs;
    const std::int64_t us = tightest->result->outcome.retry_after_us;
    return us < 0 ? -1 : (us + 999) / 1000;
  }
  std::int64_t reset_unix_ms() const {
    return tightest ? (now_us + tightest->result->outcome.reset_after_us + 999) / 1000 : 0;
  }
};

}  // namespace sluice

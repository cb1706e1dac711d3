#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/hash.h"
#include "policy/repository.h"
#include "store/store.h"
#include "telemetry/decision_counters.h"

namespace sluice {

// A dimension of a request: {"user", "u123"}.
struct Dimension {
  std::string_view name;
  std::string_view value;
};

// What a caller asks. Views must live until the call returns.
struct CheckRequest {
  std::string_view policy_id;  // empty: the most specific policy for tenant and resource
  std::string_view tenant;     // also the dimension `tenant`
  std::string_view resource;   // also the dimensions `route` and `resource`
  std::string_view key;        // the dimension `key`, and `user` if no other is given
  std::span<const Dimension> dimensions;
  std::optional<std::int64_t> cost;  // absent: by the policy's cost map, else 1
  std::string_view request_id;
};

enum class Reason : std::uint8_t { kOk, kLimited, kNever, kNoPolicy, kNoLimit, kShadow, kStoreUnavailable, kSwitch };
std::string_view to_string(Reason reason);      // "ok", "limited", …
std::string_view to_string(Pressure pressure);  // "normal", "warning", "throttled"

// One limit's part in a decision.
struct LimitStatus {
  const CompiledLimit* limit = nullptr;
  ChargeResult result;
};

// The answer, and why. Points into the snapshot that `keep_alive` of the Limiter holds: valid until the next call on
// the same Limiter.
//
// Limit 10/s with 6 used, cost 1: allowed, limit 10, remaining 3, current 7, retry_after_ms 0.
struct Decision {
  bool allowed = true;
  Reason reason = Reason::kOk;
  std::int64_t cost = 1;
  std::int64_t limit = -1;      // capacity of the tightest limit; -1 without one
  std::int64_t remaining = -1;  // of the tightest limit
  std::int64_t current = 0;     // used of the tightest limit
  std::int64_t retry_after_us = 0;   // 0 when allowed, -1 when it can never fit
  std::int64_t reset_unix_us = 0;    // when the tightest limit is full again
  Pressure pressure = Pressure::kNormal;
  const CompiledPolicy* policy = nullptr;  // whose limit is tightest; null: none applied
  const CompiledLimit* tightest = nullptr;
  std::span<const LimitStatus> limits;     // all enforced limits, in order
  bool degraded = false;
  bool replayed = false;

  std::int64_t retry_after_ms() const { return retry_after_us < 0 ? -1 : (retry_after_us + 999) / 1000; }
  std::int64_t reset_unix_ms() const { return (reset_unix_us + 999) / 1000; }
};

// Decides checks: match policies → make keys → charge the store → explain. Not thread-safe: one per thread. All of
// them share the store, the policies and the hasher, which must outlive them. Allocates nothing once warm.
class Limiter {
 public:
  Limiter(Store& store, const PolicyBoard& policies, const KeyHasher& hasher, DecisionCounters& counters);

  // Errors: kPolicyNotFound, kInvalidArgument (a field too long, too many dimensions, a required dimension absent).
  // An error charges nothing.
  Result<Decision> check(const CheckRequest& request);

  // Every check is validated before the first is charged; an error's field starts with "checks[i].".
  // Calls `emit` once for each, in order.
  template <class Emit>
  Result<void> check_batch(std::span<const CheckRequest> requests, Emit&& emit) {
    if (auto valid = validate_batch(requests); !valid) return valid;
    for (const CheckRequest& request : requests) {
      auto decision = check(request);
      if (!decision) return std::unexpected(decision.error());  // the policies changed in between
      emit(*decision);
    }
    return {};
  }

  // Looks without charging.
  Result<Decision> usage(const CheckRequest& request);

  // Forgets the counters that a check of this request would charge; returns how many there were.
  Result<int> reset(const CheckRequest& request);

  // The snapshot that the latest answer points into.
  const std::shared_ptr<const Snapshot>& keep_alive() const { return snapshot_; }

 private:
  Result<void> validate_batch(std::span<const CheckRequest> requests);

  Store& store_;
  const PolicyBoard& policies_;
  const KeyHasher& hasher_;
  DecisionCounters& counters_;
  std::shared_ptr<const Snapshot> snapshot_;
  std::uint64_t generation_ = 0;
  Matches matches_;
  std::vector<Charge> charges_;
  std::vector<ChargeResult> results_;
  std::vector<LimitStatus> statuses_;
};

}  // namespace sluice

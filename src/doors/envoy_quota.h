#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "doors/envoy_answer.h"
#include "engine/check_request.h"
#include "engine/joint_decision.h"
#include "engine/limiter.h"

// `quota_mode` of envoyproxy/ratelimit: of several such limits in a request, one with room is enough, and
// those without any are not charged. So they are looked at first, and then all that is left is charged in one
// step. Should a quota fill up between the two, the request is denied.
namespace sluice::doors {

// A quota without room in a request that others let pass. A plain value.
struct FullQuota {
  std::size_t descriptor;
  EnvoyStatus status;  // as it was seen; without its name, which may be gone by the time of the answer
};

// The look at the quotas of one request. A plain value.
class QuotaLook {
 public:
  // REQUIRES: these are the checks of the slots.
  QuotaLook(const std::vector<EnvoySlot>& slots, std::span<const CheckRequest> checks);

  // A single quota denies like any other limit.
  bool is_needed() const { return quotas_.size() > 1; }
  // For Limiter::usage_together(). Good as long as the request is.
  std::span<const CheckRequest> looks() const { return looks_; }

  // The descriptors whose own limit has no room, if others have some. One that comes under another policy's
  // limit without room, such as a cap with `always`, is none of them: that limit shall deny as it does
  // everywhere. Without an answer there are none, and the failure rule will decide. Since they will not be
  // asked for, they are counted as denied here.
  // REQUIRES: `looked` is the limiter's latest answer.
  std::vector<FullQuota> full(const Result<JointDecision>& looked, Limiter& limiter) const;

 private:
  struct Quota {
    std::size_t descriptor;
    const EnvoyRule* rule;
    std::int64_t cost;
  };
  // The quota's own limit, or null if it is not full.
  static const LimitStatus* full_limit(const Quota& quota, const Decision& level);

  std::vector<Quota> quotas_;
  std::vector<CheckRequest> looks_;
};

// The slots of full quotas, which are not asked for. Policies may have changed since the look: what is no
// quota any more is asked for.
void mark_full(std::span<const FullQuota> full, std::vector<EnvoySlot>& slots);
// The statuses of slots that are marked.
void tell_full(std::span<const FullQuota> full, const std::vector<EnvoySlot>& slots,
               std::vector<EnvoyStatus>& statuses);

}  // namespace sluice::doors

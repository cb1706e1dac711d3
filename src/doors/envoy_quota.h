#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "doors/envoy_answer.h"
#include "engine/check_request.h"
#include "engine/joint_decision.h"

// `quota_mode` of envoyproxy/ratelimit: of several such limits in a request, one with room is enough, and
// those without any are not charged. So they are looked at first, and then all that is left is charged in one
// step. Should a quota fill up between the two, the request is denied.
namespace sluice::doors {

// The look at the quotas of one request. A plain value.
class QuotaLook {
 public:
  // REQUIRES: these are the checks of the slots.
  QuotaLook(const std::vector<EnvoySlot>& slots, std::span<const CheckRequest> checks);

  // A single quota denies like any other limit.
  bool is_needed() const { return quotas_.size() > 1; }
  // Good as long as the request is.
  std::span<const CheckRequest> looks() const { return looks_; }

  // The descriptors whose own limit has no room, if others have some. One that comes under another policy's
  // limit without room, such as a cap with `always`, is none of them: that limit shall deny as it does
  // everywhere. Without an answer there are none, and the failure rule will decide.
  // REQUIRES: the policies that the slots were filled with still live.
  std::vector<std::size_t> full(const Result<JointDecision>& looked) const;

 private:
  struct Quota {
    std::size_t descriptor;
    const EnvoyRule* rule;
    std::int64_t cost;
  };
  static bool is_full(const Quota& quota, const Decision& level);

  std::vector<Quota> quotas_;
  std::vector<CheckRequest> looks_;
};

}  // namespace sluice::doors

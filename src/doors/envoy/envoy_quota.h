#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "doors/access/door_engine.h"
#include "doors/envoy/envoy_answer.h"
#include "engine/decision/joint_decision.h"
#include "engine/engine.h"
#include "engine/request/check_request.h"

// `quota_mode` of envoyproxy/ratelimit: if a request matches several such limits, it passes if one has room,
// and full ones are not charged. So the quotas are looked at first; then the remaining ones are charged in
// one step. If a quota fills up between the two steps, the request is denied.
namespace sluice::doors {

// A full quota in a request that other quotas let pass. A plain value.
struct FullQuota {
  std::size_t descriptor;
  // As seen by the look; without its name, which may be gone when the answer is written.
  EnvoyStatus status;
};

// The look at the quotas of one request. A plain value.
class QuotaLook {
 public:
  // REQUIRES: `checks` are those of the descriptors.
  QuotaLook(const std::vector<PlannedDescriptor>& planned, std::span<const CheckRequest> checks);

  // A single quota denies like any other limit.
  bool is_needed() const { return quotas_.size() > 1; }
  // For Engine::usage_together(). Valid as long as the request.
  std::span<const CheckRequest> looks() const { return looks_; }

  // The descriptors whose own limit is full, if others have room. A descriptor is not included if another
  // policy's limit denies it, such as a cap with `always`: that limit denies as it does everywhere. If the
  // store did not answer, the list is empty, and the failure rule will decide. Full quotas are not checked
  // afterwards, so they are counted as denied here.
  // REQUIRES: `looked` is the engine's latest answer.
  std::vector<FullQuota> full(const Result<JointDecision>& looked, DoorEngine& engine) const;

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

// Marks the descriptors of full quotas, which are not checked. Policies may have changed since the look: one
// that is no longer a quota is checked.
void mark_full(std::span<const FullQuota> full, std::vector<PlannedDescriptor>& planned);
// Writes the statuses of the marked descriptors.
void fill_full_statuses(std::span<const FullQuota> full, const std::vector<PlannedDescriptor>& planned,
                        std::vector<EnvoyStatus>& statuses);

}  // namespace sluice::doors

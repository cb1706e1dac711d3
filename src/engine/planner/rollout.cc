#include "engine/planner/rollout.h"

namespace sluice {
namespace {

// A request without the first limit's dimensions has no key to choose by; it waits for 100 %.
bool is_in_share(const CompiledPolicy& policy, const Dimensions& dimensions, std::uint64_t percent,
                 const KeyHasher& stable) {
  if (percent >= 100) return true;
  const auto key = counter_key(dimensions, policy.limits.front(), stable);
  return key && key->low % 100 < percent;
}

}  // namespace

bool KeyRollout::applies(const CompiledPolicy& policy) const {
  static const KeyHasher kStable = KeyHasher::from_text("sluice rollout");
  const Rollout& rollout = policy.source.rollout;
  if (rollout.valid_from_us > 0 && clock_.now_us() < rollout.valid_from_us) return false;
  return is_in_share(policy, dimensions_, static_cast<std::uint64_t>(rollout.percent), kStable);
}

bool can_be_shared_out(const CompiledPolicy& policy, const Dimensions& dimensions) {
  return has_dimensions_of(policy.limits.front(), dimensions);
}

bool candidate_decides(const CompiledPolicy& policy, const Dimensions& dimensions) {
  static const KeyHasher kStable = KeyHasher::from_text("sluice candidate");
  return is_in_share(policy, dimensions, policy.candidate->percent(), kStable);
}

}  // namespace sluice

#include "engine/rollout.h"

namespace sluice {

bool KeyRollout::applies(const CompiledPolicy& policy) const {
  static const KeyHasher kStable = KeyHasher::from_text("sluice rollout");
  const Rollout& rollout = policy.source.rollout;
  if (rollout.valid_from_us > 0 && clock_.now_us() < rollout.valid_from_us) return false;
  if (rollout.percent >= 100) return true;
  // A request that lacks the first limit's dimensions has no key to choose by; it waits for 100 %.
  const auto key = counter_key(dimensions_, policy.limits.front(), kStable);
  return key && key->low % 100 < static_cast<std::uint64_t>(rollout.percent);
}

}  // namespace sluice

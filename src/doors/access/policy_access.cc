#include "doors/access/policy_access.h"

#include "base/try.h"

namespace sluice::doors {

Result<void> may_read_policy(DoorContext& context, const control::Principal& principal, std::string_view id) {
  const Engine::Hold hold = context.engine.hold();
  const CompiledPolicy* const policy = hold.policies().find(id);
  if (policy && (policy->source.tenant.empty() || principal.sees_tenant(policy->source.tenant))) return {};
  SLUICE_TRY(principal.may(control::Role::kRead, ""));
  return std::unexpected(
      Error{ErrorCode::kPolicyNotFound, "there is no policy \"" + std::string(id) + '"', "policy_id"});
}

}  // namespace sluice::doors

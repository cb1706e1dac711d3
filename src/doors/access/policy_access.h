#pragma once

#include <string_view>

#include "base/error.h"
#include "control/access/principal.h"
#include "doors/door_context.h"

namespace sluice::doors {

// Whether the principal may read about the policy. A policy of one tenant, which they may not see, is told
// apart from one that does not exist only for callers who see all. Errors: kPermissionDenied,
// kPolicyNotFound.
Result<void> may_read_policy(DoorContext& context, const control::Principal& principal, std::string_view id);

}  // namespace sluice::doors

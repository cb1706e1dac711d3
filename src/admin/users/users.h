#pragma once

#include "admin/admin_call.h"

// /api/v1/users/{id}: the tier of a user, and their overrides. user_limits.h shows the resulting limits.
namespace sluice::admin {

// PUT …/tier {"tier": "premium"}; an empty tier removes it.
Result<AdminAnswer> set_tier(AdminContext& context, const AdminCall& call);
// POST …/override {"policy_id", "limit", "window_seconds", "expires_at", "limit_name", "burst"}; without
// expires_at it is permanent. `limit_name` may be left out if the policy counts users in one limit only.
Result<AdminAnswer> add_override(AdminContext& context, const AdminCall& call);
// DELETE …/override/{policy_id}[?limit_name=…]
Result<AdminAnswer> remove_override(AdminContext& context, const AdminCall& call);

}  // namespace sluice::admin

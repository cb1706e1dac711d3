#pragma once

#include "admin/admin_call.h"

// The limits that apply to one user, whatever their source: policy, candidate, tier or override.
namespace sluice::admin {

// Whether each user has their own counter in this limit.
bool counts_users(const Limit& limit);

// GET /api/v1/users/{id}/limits[?tenant_id=…&policy_id=…]: every limit that counts this user, its numbers,
// their source, and whether it applies to the user now. During a rollout, the numbers are those of the
// version that decides for this user.
Result<AdminAnswer> list_user_limits(AdminContext& context, const AdminCall& call);

// kInvalidArgument, naming user_id: not a valid user id.
Result<void> check_user_id(const std::string& id);

}  // namespace sluice::admin

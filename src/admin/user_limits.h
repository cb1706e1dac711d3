#pragma once

#include "admin/admin_call.h"

// The limits that hold for one user, whatever they come from: policy, candidate, tier or override.
namespace sluice::admin {

// Whether each user has a counter of this limit for himself.
bool counts_users(const Limit& limit);

// GET /api/v1/users/{id}/limits[?tenant_id=…&policy_id=…]: every limit that counts this user, its numbers,
// where they are from, and whether it applies to him now. While a version is being rolled out, the numbers
// are those of the version that decides for him.
Result<AdminAnswer> list_user_limits(AdminContext& context, const AdminCall& call);

// kInvalidArgument, naming user_id: nobody has such an id.
Result<void> check_user_id(const std::string& id);

}  // namespace sluice::admin

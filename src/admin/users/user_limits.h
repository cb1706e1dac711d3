#pragma once

#include <string>

#include "admin/routes.h"
#include "base/error.h"
#include "policy/model.h"

// What the handlers of users share.
namespace sluice::admin {

// Whether each user has their own counter in this limit.
bool counts_users(const Limit& limit);

// Whether the caller may know that a user has this tier: they see a policy that has it. Tiers belong to no
// tenant, so a tenant-scoped caller would otherwise see what others have agreed with their users.
bool sees_tier(AdminContext& context, const AdminCall& call, const std::string& tier);

// kInvalidArgument, naming user_id: not a valid user id.
Result<void> check_user_id(const std::string& id);

}  // namespace sluice::admin

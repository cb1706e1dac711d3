#pragma once

#include "admin/admin_call.h"

// /v1/policies: the policy documents themselves, their versions, and the rollback to an older version.
namespace sluice::admin {

Result<AdminAnswer> list_policies(AdminContext& context, const AdminCall& call);
Result<AdminAnswer> get_policy(AdminContext& context, const AdminCall& call);
Result<AdminAnswer> put_policy(AdminContext& context, const AdminCall& call);
Result<AdminAnswer> remove_policy(AdminContext& context, const AdminCall& call);
// Applies all policies of a document as one change; with dry_run=true it only checks them.
Result<AdminAnswer> apply_policies(AdminContext& context, const AdminCall& call);
Result<AdminAnswer> list_versions(AdminContext& context, const AdminCall& call);
Result<AdminAnswer> roll_back_policy(AdminContext& context, const AdminCall& call);

}  // namespace sluice::admin

#pragma once

#include "admin/admin_call.h"

// /v1/rules: a rule is {tenant_id, resource, limit, window_sec, burst}, kept as a policy with one token
// bucket per tenant and key. Its id is made of tenant and resource, so the same rule always has the same.
namespace sluice::admin {

Result<AdminAnswer> create_rule(AdminContext& context, const AdminCall& call);
// Of one tenant, or of all that the caller may see: every policy there is, told by its first limit.
Result<AdminAnswer> list_rules(AdminContext& context, const AdminCall& call);
Result<AdminAnswer> delete_rule(AdminContext& context, const AdminCall& call);

}  // namespace sluice::admin

#pragma once

#include "admin/admin_call.h"

// /v1/rules: a rule is {tenant_id, resource, limit, window_sec, burst}, stored as a policy with one token
// bucket per tenant and key. Its id is derived from tenant and resource, so the same rule always has the same
// id.
namespace sluice::admin {

Result<AdminAnswer> create_rule(AdminContext& context, const AdminCall& call);
// The rules of one tenant, or of all tenants that the caller may see: every policy, shown by its first limit.
Result<AdminAnswer> list_rules(AdminContext& context, const AdminCall& call);
Result<AdminAnswer> delete_rule(AdminContext& context, const AdminCall& call);

}  // namespace sluice::admin

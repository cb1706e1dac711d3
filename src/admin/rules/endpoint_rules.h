#pragma once

#include "admin/admin_call.h"

// /api/v1/rules: a rule is {name, dimension, endpoint_pattern, limit, window_seconds, algorithm, tier}. All
// rules on one pattern are the limits of one policy, so that a request is charged to all of them or to none;
// a rule with a tier sets the limit for users of that tier.
//
// A rule's id is "endpoint-…~name", or "endpoint-…~name~tier": the policy, the limit, the tier. If only tiers
// have rules, the plain limit is so large that it never denies.
namespace sluice::admin {

Result<AdminAnswer> create_endpoint_rule(AdminContext& context, const AdminCall& call);
Result<AdminAnswer> get_endpoint_rule(AdminContext& context, const AdminCall& call);
Result<AdminAnswer> list_endpoint_rules(AdminContext& context, const AdminCall& call);
Result<AdminAnswer> update_endpoint_rule(AdminContext& context, const AdminCall& call);
Result<AdminAnswer> delete_endpoint_rule(AdminContext& context, const AdminCall& call);

}  // namespace sluice::admin

#pragma once

#include "admin/admin_call.h"

// /v1/policies/{id}/rollout: a new version of a policy on its way into force, in stages; how it does, and how
// to hurry or stop it.
namespace sluice::admin {

Result<AdminAnswer> list_rollouts(AdminContext& context, const AdminCall& call);
Result<AdminAnswer> get_rollout(AdminContext& context, const AdminCall& call);
// `If-Match` is the policy's version, which the candidate is to replace.
Result<AdminAnswer> start_rollout(AdminContext& context, const AdminCall& call);
// For these two it is the rollout's. From the last stage the next is the end: the candidate is the policy.
Result<AdminAnswer> advance_rollout(AdminContext& context, const AdminCall& call);
Result<AdminAnswer> abort_rollout(AdminContext& context, const AdminCall& call);

}  // namespace sluice::admin

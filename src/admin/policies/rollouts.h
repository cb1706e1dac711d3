#pragma once

#include "admin/admin_call.h"

// /v1/policies/{id}/rollout: the staged rollout of a new version of a policy: its progress, and how to
// advance or abort it.
namespace sluice::admin {

Result<AdminAnswer> list_rollouts(AdminContext& context, const AdminCall& call);
Result<AdminAnswer> get_rollout(AdminContext& context, const AdminCall& call);
// `If-Match` is the version of the policy, which the candidate will replace.
Result<AdminAnswer> start_rollout(AdminContext& context, const AdminCall& call);
// For these two, `If-Match` is the version of the rollout. Advancing from the last stage finishes the
// rollout: the candidate becomes the policy.
Result<AdminAnswer> advance_rollout(AdminContext& context, const AdminCall& call);
Result<AdminAnswer> abort_rollout(AdminContext& context, const AdminCall& call);

}  // namespace sluice::admin

#pragma once

#include <vector>

#include "admin/admin_call.h"
#include "admin/policy_views.h"

// POST /v1/policies: several policies, of which those that changed are written, all or none.
namespace sluice::admin {

// What the body says: the policies, and which versions of them the caller has seen.
struct PolicyBatch {
  std::vector<Policy> policies;
  SeenVersions seen;

  static Result<PolicyBatch> read(const AdminCall& call);
};

// Writes those that differ from what is in force.
Result<AdminAnswer> write_batch(AdminContext& context, const AdminCall& call, const PolicyBatch& batch);
// What that would do, and the errors that it would report. Nothing happens.
Result<AdminAnswer> try_batch(AdminContext& context, const AdminCall& call, const PolicyBatch& batch);
// The answer of then, if `earlier`, which has the same idempotency key, is what this batch wrote.
Result<AdminAnswer> answer_again(AdminContext& context, const AdminCall& call, const PolicyBatch& batch,
                                 const std::vector<ledger::Record>& earlier);

}  // namespace sluice::admin

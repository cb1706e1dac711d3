#pragma once

#include <vector>

#include "admin/admin_call.h"
#include "admin/policies/policy_views.h"

// POST /v1/policies: several policies. Those that changed are written, all or none.
namespace sluice::admin {

// The contents of the body: the policies, and which versions of them the caller has seen.
struct PolicyBatch {
  std::vector<Policy> policies;
  SeenVersions seen;

  static Result<PolicyBatch> read(const AdminCall& call);
};

// Writes the policies that differ from those in force.
Result<AdminAnswer> write_batch(AdminContext& context, const AdminCall& call, const PolicyBatch& batch);
// What write_batch() would do, and the errors it would report. Changes nothing.
Result<AdminAnswer> try_batch(AdminContext& context, const AdminCall& call, const PolicyBatch& batch);
// The earlier answer, if `earlier`, which has the same idempotency key, is what this batch wrote.
Result<AdminAnswer> answer_again(AdminContext& context, const AdminCall& call, const PolicyBatch& batch,
                                 const std::vector<ledger::Record>& earlier);

}  // namespace sluice::admin

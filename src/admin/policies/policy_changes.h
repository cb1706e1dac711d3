#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "admin/admin_call.h"

// How the admin API changes policies, whichever part of it they come from.
namespace sluice::admin {

// Whether the caller may replace the current policy, in force or not, with this one.
Result<void> may_write(AdminContext& context, const AdminCall& call, const Policy& policy);

// The versions that a caller has seen, by policy; 0: they have seen that there is none. Policies that are not
// listed may have any version.
using SeenVersions = std::map<std::string, std::int64_t>;

// kStale: that is not the version in force, as far as the caller can see.
Result<void> is_at_version(AdminContext& context, const AdminCall& call, const std::string& id,
                           std::int64_t version);

// Writes these policies as one change, if all versions in `seen` are still current. Refuses changes that the
// caller may not make, and documents that would deny everyone, unless the query has confirm=deny-everyone.
// The records are parallel to the policies; the `item` of an error, if any, is the position of a policy.
//
// If changes are staged, replacing a policy in force starts a rollout instead, and the record is that of the
// rollout: is_staged(). A "rollback" to an earlier version is not staged: it is an emergency measure.
Result<std::vector<ledger::Record>> put_policies(AdminContext& context, const AdminCall& call,
                                                 const std::vector<Policy>& policies,
                                                 const SeenVersions& seen, std::string_view action);
inline bool is_staged(const ledger::Record& record) { return record.kind == ledger::Kind::kRollout; }
// The version of the policy that is in force after this write; for a rollout, the version beside which it
// starts.
std::int64_t version_in_force(const ledger::Record& record);

// The same for a single policy.
Result<ledger::Record> put_one_policy(AdminContext& context, const AdminCall& call, const Policy& policy,
                                      std::optional<std::int64_t> expected, std::string_view action);
// kNotFound also if the caller may not see it.
Result<void> delete_policy(AdminContext& context, const AdminCall& call, const std::string& id,
                           std::optional<std::int64_t> expected);

// kInvalidArgument: it would deny everyone, and the query does not say confirm=deny-everyone.
Result<void> refuse_denying_everyone(const AdminCall& call, const Policy& policy);

// The error without a position in a list: the caller sent one policy.
Error of_one_policy(Error error);

}  // namespace sluice::admin

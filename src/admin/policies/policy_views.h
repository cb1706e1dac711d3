#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "admin/admin_call.h"
#include "base/try.h"

// What several parts of the admin API do with policies.
namespace sluice::admin {

using PolicyPointer = std::shared_ptr<const CompiledPolicy>;

// The policy in force, if the caller may see it. kNotFound also for policies that they may not see.
Result<PolicyPointer> find_policy(AdminContext& context, const AdminCall& call, std::string_view id);

// One page of a list, as the query's `after` and `limit` ask for, ordered by id. `takes` selects the
// policies.
struct PolicyPage {
  std::vector<PolicyPointer> policies;
  std::string next;  // the `after` of the next page; empty: this is the last page
};
template <class Takes>
Result<PolicyPage> page_of_policies(AdminContext& context, const AdminCall& call, const Takes& takes);

// Whether the caller may see what belongs to the policy with this id, in force or not. If there is no such
// policy, only callers that see all tenants may.
bool sees_policy(AdminContext& context, const AdminCall& call, std::string_view id);

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
// The records are parallel to the policies.
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

// Adds `warnings`, if there are any, about what these policies hardly mean.
void put_warnings(DocumentNode& answer, std::span<const Policy> policies);

// {"id":…,"version":…,"source":"api","document":{…}}
DocumentNode policy_view(AdminContext& context, const CompiledPolicy& policy);

// Adds `created_at` and `updated_at`: when the policy was created, and when it became this version. Null: it
// comes from a file, or the database cannot tell at present.
void put_times(AdminContext& context, const Policy& policy, DocumentNode& view);

// Turns errors about "policies[0].resource" into errors about "resource": the caller sent one policy, not a
// list.
Error about_one_policy(Error error);

// The page sizes of all lists.
inline constexpr std::int64_t kPageMax = 1000, kPageDefault = 100;

// The items of one page, as JSON of at most kPageBytesMax; the first item is always accepted. Not
// thread-safe.
class PageItems {
 public:
  // False: the item does not fit and was not added.
  bool add(DocumentNode item);
  DocumentNode take() { return std::move(list_); }
  std::int64_t size() const { return std::ssize(list_.items); }

 private:
  DocumentNode list_ = {.kind = DocumentNode::Kind::kList};
  std::size_t bytes_ = 0;
};

template <class Takes>
Result<PolicyPage> page_of_policies(AdminContext& context, const AdminCall& call, const Takes& takes) {
  const auto limit = SLUICE_TRY(call.number("limit", 1, kPageMax, kPageDefault));
  const std::string_view after = call.parameter("after");
  PolicyPage page;
  context.catalog.current()->policies().for_each([&](const PolicyPointer& policy) {
    if (policy->name() > after && call.principal.sees_tenant(policy->source.tenant) && takes(*policy))
      page.policies.push_back(policy);
  });
  const auto by_id = [](const PolicyPointer& a, const PolicyPointer& b) { return a->name() < b->name(); };
  const auto wanted = static_cast<std::size_t>(limit);
  const bool more = page.policies.size() > wanted;
  const auto end = more ? page.policies.begin() + limit : page.policies.end();
  std::partial_sort(page.policies.begin(), end, page.policies.end(), by_id);
  if (more) {
    page.policies.resize(wanted);
    page.next = page.policies.back()->name();
  }
  return page;
}

}  // namespace sluice::admin

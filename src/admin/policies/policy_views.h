#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "admin/admin_call.h"
#include "base/try.h"

// How the admin API finds and shows policies. policy_changes.h changes them.
namespace sluice::admin {

using PolicyPointer = std::shared_ptr<const CompiledPolicy>;

// The policy in force, if the caller may see it. kNotFound also for policies that they may not see.
Result<PolicyPointer> find_policy(AdminContext& context, const AdminCall& call, std::string_view id);

Error no_such_policy(std::string_view id);

// The tenant of the policy with this id, in force or not; none: there is no such policy. Empty if the tenant
// cannot be determined: then only callers with access to all tenants may touch it.
std::optional<std::string> tenant_of_policy(AdminContext& context, std::string_view id);

// Whether the caller may see what belongs to the policy with this id, in force or not. If there is no such
// policy, only callers that see all tenants may.
bool sees_policy(AdminContext& context, const AdminCall& call, std::string_view id);

// One page of a list, as the query's `after` and `limit` ask for, ordered by id. `takes` selects the
// policies.
struct PolicyPage {
  std::vector<PolicyPointer> policies;
  std::string next;  // the `after` of the next page; empty: this is the last page
};
template <class Takes>
Result<PolicyPage> page_of_policies(AdminContext& context, const AdminCall& call, const Takes& takes);

// Adds `warnings`, if there are any, about what these policies hardly mean.
void put_warnings(DocumentNode& answer, std::span<const Policy> policies);

// {"id":…,"version":…,"source":"api","document":{…}}
DocumentNode policy_view(AdminContext& context, const CompiledPolicy& policy);

// Adds `created_at` and `updated_at`: when the policy was created, and when it became this version. Null: it
// comes from a file, or the database cannot tell at present.
void put_times(AdminContext& context, const Policy& policy, DocumentNode& view);

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

#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "policy/candidate.h"
#include "policy/compiled.h"
#include "policy/policy_numbers.h"
#include "policy/shared_map.h"
#include "policy/users.h"

namespace sluice {

// Decides whether a policy under rollout applies to the request at hand; asked only about such policies.
class RolloutFilter {
 public:
  virtual bool applies(const CompiledPolicy& policy) const = 0;

 protected:
  ~RolloutFilter() = default;
};

class TenantPolicies;
class EnvoyLookup;
using EnvoyDomains = std::map<std::string, std::shared_ptr<const EnvoyLookup>, std::less<>>;  // by name
using MrFirsts = std::map<std::string, std::string, std::less<>>;  // id of the first entry, by domain

// What applies to a request: the most specific policy, and every `always` policy that matches. Reusable, so
// that matching allocates nothing once warm.
struct Matches {
  std::vector<const CompiledPolicy*> policies;  // the specific one first, if any
};

// What a new snapshot has that the one before had not.
struct PolicyChange {
  std::vector<Policy>
      put;  // new ones, and those that replace the policy of the same id, without its candidate
  std::vector<std::string> remove;
  std::vector<User> put_users;
  std::vector<std::string> remove_users;
  std::vector<Candidate> candidates;          // of policies in `put`, one each
  std::optional<EnvoyDomains> envoy_domains;  // given: these instead of those before
  std::optional<MrFirsts> mr_firsts;          // of the files; given: these instead of those before
};

// All policies in force at one moment. Immutable; thread-safe; shared by pointer and swapped as a whole.
//
//   auto changed = snapshot->with({.put = {policy}}, params, {});
//   if (!changed) return report(changed.error());   // nothing has changed
//   (*changed)->match("search-service", "/search", filter, matches);
//
// A snapshot shares with the one it was made from all that did not change. Making it costs as much as the
// policies of the tenants that the change touches, however many others there are.
class Snapshot {
 public:
  // No policies at all.
  static std::shared_ptr<const Snapshot> empty(
      std::shared_ptr<PolicyNumbers> numbers = std::make_shared<PolicyNumbers>());

  // These policies and no others, whatever `before` has; it knows the numbers that limits had until now.
  static Result<std::shared_ptr<const Snapshot>> compile(std::vector<Policy> policies, ParamsTable& params,
                                                         const CompileOptions& options = {},
                                                         const Snapshot* before = nullptr);

  // Fails on duplicate ids, on patterns that do not parse, on two policies for the same tenant and pattern of
  // which none is `always`, when more than kLimitsPerCheckMax limits could apply to one request (crowds.h),
  // and when a table is full. Then nothing has changed; the error's field starts with "policies[i]", the
  // position in `put`. What is to be removed and is not there is no error.
  Result<std::shared_ptr<const Snapshot>> with(PolicyChange change, ParamsTable& params,
                                               const CompileOptions& options = {}) const;

  // The errors that with() would report.
  Result<void> check(PolicyChange change, ParamsTable& params, const CompileOptions& options = {}) const;

  // The policy of that id, or null.
  const CompiledPolicy* find(std::string_view id) const;

  // Exact tenant before any tenant; then exact resource, then segments, then the longest prefix, then no
  // resource. A policy that `filter` turns down leaves the place to the next one. Replaces the contents of
  // `out`. The cost depends on the length of the resource, never on the number of policies.
  void match(std::string_view tenant, std::string_view resource, const RolloutFilter& filter,
             Matches& out) const;

  // Calls `take` for every policy that could be the specific one of a match, in that order, until it returns
  // true. Whether one that is under rollout applies is left to it.
  void visit_specific(std::string_view tenant, std::string_view resource,
                      const std::function<bool(const CompiledPolicy&)>& take) const;

  // Only the `always` policies; for requests that name their policy themselves.
  void match_always(std::string_view tenant, std::string_view resource, const RolloutFilter& filter,
                    Matches& out) const;

  // What is agreed with that user, or null.
  const CompiledUser* find_user(std::string_view id) const;

  // Whether a policy that requests of this tenant may come under has limits of its own for that tier.
  bool knows_tier(std::string_view tenant, std::string_view tier) const;

  // How descriptors of that domain find their policies, or null.
  const EnvoyLookup* find_envoy_domain(std::string_view name) const;

  // The entry of that domain which counts keys that no other one is for (mr_entry.h), or null.
  const CompiledPolicy* first_mr_entry(std::string_view domain) const;

  const SharedMap<CompiledPolicy>& policies() const { return by_id_; }
  const SharedMap<CompiledUser>& users() const { return users_; }
  const std::shared_ptr<PolicyNumbers>& numbers() const { return numbers_; }

  // Whether some policy is under rollout, so that what applies depends on more than tenant and resource.
  bool has_rollout() const { return rollouts_ > 0; }
  // Whether there is an `always` policy.
  bool has_always() const { return always_ > 0; }
  // The policies of that tenant, or those for any tenant if the name is empty; null: there are none.
  const TenantPolicies* policies_of(std::string_view tenant) const {
    return tenant.empty() ? any_tenant_.get() : of_tenant(tenant);
  }

 private:
  using Pointer = std::shared_ptr<const CompiledPolicy>;
  class Maker;

  Snapshot() = default;
  const TenantPolicies* of_tenant(std::string_view tenant) const;
  template <class Take>
  void visit_specific_of(const TenantPolicies* own, std::string_view resource, const Take& take) const;
  void add_always(const TenantPolicies* own, std::string_view resource, const RolloutFilter& filter,
                  Matches& out) const;

  SharedMap<CompiledPolicy> by_id_;
  SharedMap<TenantPolicies> tenants_;                 // with a name
  std::shared_ptr<const TenantPolicies> any_tenant_;  // those for any tenant; null: none
  SharedMap<CompiledUser> users_;
  std::shared_ptr<const EnvoyDomains> envoy_domains_;  // null: none
  std::shared_ptr<const MrFirsts> mr_firsts_;          // null: none
  std::size_t rollouts_ = 0;                           // policies under rollout
  std::size_t always_ = 0;                             // `always` policies
  std::shared_ptr<PolicyNumbers> numbers_;
};

}  // namespace sluice

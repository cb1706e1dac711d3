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
#include "policy/snapshot/candidate.h"
#include "policy/snapshot/compiled.h"
#include "policy/snapshot/policy_indexes.h"
#include "policy/snapshot/shared_map.h"
#include "policy/users.h"

namespace sluice {

// Decides whether a policy under rollout applies to the current request. Called only for such policies.
class RolloutFilter {
 public:
  virtual bool applies(const CompiledPolicy& policy) const = 0;

 protected:
  ~RolloutFilter() = default;
};

class TenantPolicies;
class EnvoyLookup;
using EnvoyDomains = std::map<std::string, std::shared_ptr<const EnvoyLookup>, std::less<>>;  // by name
using MultiRateFirsts = std::map<std::string, std::string, std::less<>>;  // id of the first entry, by domain

// The policies that apply to a request: the most specific policy, and every `always` policy that matches.
// Reusable, so that matching allocates nothing once warm.
struct Matches {
  std::vector<const CompiledPolicy*> policies;  // the specific one first, if any
};

// The difference between a new snapshot and the one before.
struct PolicyChange {
  std::vector<Policy>
      put;  // new policies, and those that replace the policy with the same id and drop its candidate
  std::vector<std::string> remove;
  std::vector<User> put_users;
  std::vector<std::string> remove_users;
  std::vector<Candidate> candidates;                 // for policies in `put`, at most one each
  std::optional<EnvoyDomains> envoy_domains;         // if given: replaces the former ones
  std::optional<MultiRateFirsts> multi_rate_firsts;  // from files; if given: replaces the former ones
};

// All policies in force at one moment. Immutable; thread-safe; shared by pointer and swapped as a whole.
//
//   auto changed = snapshot->with({.put = {policy}}, params, {});
//   if (!changed) return report(changed.error());   // nothing has changed
//   (*changed)->match("search-service", "/search", filter, matches);
//
// A snapshot shares everything unchanged with the one it was made from. The cost of making it depends on the
// policies of the tenants that the change touches, not on the other policies.
class Snapshot {
 public:
  // No policies at all.
  static std::shared_ptr<const Snapshot> empty(
      std::shared_ptr<PolicyIndexes> indexes = std::make_shared<PolicyIndexes>());

  // Exactly these policies, whatever `before` has; `before` supplies the indexes that policies had until now.
  static Result<std::shared_ptr<const Snapshot>> compile(std::vector<Policy> policies, ParamsTable& params,
                                                         const CompileOptions& options = {},
                                                         const Snapshot* before = nullptr);

  // Fails on duplicate ids, on patterns that do not parse, on two policies for the same tenant and pattern of
  // which none is `always`, when more than kLimitsPerCheckMax limits could apply to one request
  // (limits_per_request.h), when a lookup among a tenant's patterns could take more than kPatternStepsMax
  // steps (pattern_steps.h), and when a table is full. On failure nothing has changed, and the error's
  // `item` is the position in `put`, if a policy is to blame. Removing a policy that does not exist is not an
  // error.
  //
  // REQUIRES: the snapshot is published.
  Result<std::shared_ptr<const Snapshot>> with(PolicyChange change, ParamsTable& params,
                                               const CompileOptions& options = {}) const;
  // The same for a snapshot that is published only if the draft is kept, and not used after it.
  Result<std::shared_ptr<const Snapshot>> with(PolicyChange change, ParamsDraft& params,
                                               const CompileOptions& options = {}) const;

  // The errors that with() would report. Leaves nothing behind.
  Result<void> check(PolicyChange change, ParamsTable& params, const CompileOptions& options = {}) const;

  // The policy with that id, or null.
  const CompiledPolicy* find(std::string_view id) const;

  // Finds the policies for a request. Exact tenant before any tenant; then exact resource, then segments,
  // then the longest prefix, then no resource. If `filter` rejects a policy, the next one takes its place.
  // Replaces the contents of `out`. The cost depends on the length of the resource, never on the number of
  // policies.
  void match(std::string_view tenant, std::string_view resource, const RolloutFilter& filter,
             Matches& out) const;

  // Calls `take` for every policy that could be the specific one of a match, in that order, until it returns
  // true. `take` must decide whether a policy under rollout applies.
  void visit_specific(std::string_view tenant, std::string_view resource,
                      const std::function<bool(const CompiledPolicy&)>& take) const;

  // Finds only the `always` policies; for requests that name their policy.
  void match_always(std::string_view tenant, std::string_view resource, const RolloutFilter& filter,
                    Matches& out) const;

  // The tier and overrides of that user, or null.
  const CompiledUser* find_user(std::string_view id) const;

  // Whether a policy that may apply to requests of this tenant has limits for that tier.
  bool knows_tier(std::string_view tenant, std::string_view tier) const;

  // The descriptor tree of that domain, or null.
  const EnvoyLookup* find_envoy_domain(std::string_view name) const;

  // The entry of that domain that counts keys without an entry of their own (multi_rate_entry.h), or null.
  const CompiledPolicy* first_multi_rate_entry(std::string_view domain) const;

  const SharedMap<CompiledPolicy>& policies() const { return by_id_; }
  const SharedMap<CompiledUser>& users() const { return users_; }
  const std::shared_ptr<PolicyIndexes>& policy_indexes() const { return indexes_; }

  // Whether some policy is under rollout, so that matching depends on more than tenant and resource.
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
  std::shared_ptr<const EnvoyDomains> envoy_domains_;         // null: none
  std::shared_ptr<const MultiRateFirsts> multi_rate_firsts_;  // null: none
  std::size_t rollouts_ = 0;                                  // policies under rollout
  std::size_t always_ = 0;                                    // `always` policies
  std::shared_ptr<PolicyIndexes> indexes_;
};

}  // namespace sluice

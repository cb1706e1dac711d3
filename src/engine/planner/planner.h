#pragma once

#include <array>
#include <cstdint>
#include <memory>

#include "base/clock.h"
#include "base/error.h"
#include "base/limits.h"
#include "base/secret/hash.h"
#include "engine/decision/decision.h"
#include "engine/planner/agreements.h"
#include "engine/planner/route_cache.h"
#include "engine/request/check_request.h"
#include "policy/snapshot/snapshot_publisher.h"
#include "store/charge.h"
#include "store/store.h"
#include "telemetry/decision_counters.h"

namespace sluice {

// The limits that a request will charge, and the charges. Arrays whose elements are filled in place: that is
// measurably cheaper than a vector, into which they would be copied.
struct Plan {
  std::size_t size = 0;
  std::array<Charge, kLimitsPerCheckMax> charges;
  // Parallel to charges:
  std::array<LimitStatus, kLimitsPerCheckMax> limits;
  std::array<ChargeResult, kLimitsPerCheckMax> results;  // filled in by a store that answers at once
};

// A check has up to three plans, and the store is asked about each in a call of its own.
enum PlanKind : std::uint8_t {
  kEnforced,    // the limits that decide
  kShadow,      // those of shadow policies
  kComparison,  // what candidates would charge in the place of their policies
};

// What a plan is for.
enum class Purpose : std::uint8_t {
  kLook,  // nothing will change
  // A check will be decided: limits skipped for lack of a dimension are counted, candidates are compared.
  kCheck,
  // Units are taken now and spent later, by somebody who decides for themselves.
  kLease,
  // Counters will change without a decision (a refund, a reset). That includes those of the comparison with
  // candidates; otherwise they would still count what the others no longer do.
  kAmend,
};

// Determines what a request will charge: match policies → take their limits → make keys. Not thread-safe: one
// per thread. Allocates nothing once warm.
class Planner {
 public:
  struct Parts {
    const SnapshotPublisher& policies;
    const KeyHasher& hasher;
    const Clock& clock;  // for `valid_from` only
    DecisionTotals& totals;
    const Store& store;                    // prefetches keys as soon as they are known
    std::string_view default_tenant = {};  // for requests that neither have nor imply one; empty: none
    bool places = false;                   // counters live outside the process: set Charge::slot_tag
  };
  explicit Planner(const Parts& parts);  // `parts` outlive it

  // Fills the plans. Errors as Engine::check().
  Result<void> plan(const CheckRequest& request, Purpose purpose);

  // The same for several requests that are decided together (joint_plan.h): clear(), then add() for each. If
  // two of them charge the same counter, the caller merges the charges.
  void clear() {
    refresh_snapshot();
    enforced().size = shadow().size = comparison().size = 0;
  }
  Result<void> add(const CheckRequest& request, Purpose purpose);
  // Applies the numbers that came with the latest added request; its limits begin at `first`.
  void take_given_numbers(const CheckRequest& request, std::size_t first);

  Plan& plan_of(PlanKind kind) { return plans_[kind]; }
  Plan& enforced() { return plans_[kEnforced]; }
  Plan& shadow() { return plans_[kShadow]; }
  Plan& comparison() { return plans_[kComparison]; }
  // The most specific policy of the latest plan, or null.
  const CompiledPolicy* first_policy() const {
    return matches_->policies.empty() ? nullptr : matches_->policies.front();
  }
  // The tenant of a request of the latest plan: its own or the implied one. `first_policy` is its most
  // specific policy, or null. Valid as long as both the request and the policies are.
  std::string_view tenant_of(const CheckRequest& request, const CompiledPolicy* first_policy) const {
    const std::string_view said = Dimensions(request).tenant();
    if (!said.empty() || request.own_policy) [[likely]]
      return said;
    return implied_tenant(request.policy_id.empty() ? nullptr : first_policy);
  }
  // The same before planning, by the policies in force. Valid until the next plan.
  std::string_view tenant_of(const CheckRequest& request) {
    refresh_snapshot();
    return tenant_of(request, snapshot_->find(request.policy_id));
  }

  // The tier of the latest planned request (Agreements::tier_of()).
  std::string_view tier() const { return tier_; }
  // Whether the latest plan was for a tier that none of the policies that can apply to its tenant knows. That
  // is most likely a typo; the limits for everybody applied.
  bool has_unknown_tier(const CheckRequest& request) const {
    return !tier_.empty() && !snapshot_->knows_tier(tenant_of(request, first_policy()), tier_);
  }
  // The tier of a request of the latest plan; `first_policy` is its most specific policy, or null.
  std::string_view tier_of(const CheckRequest& request, const CompiledPolicy* first_policy) const {
    const Dimensions dimensions(request);
    Agreements agreements;
    agreements.begin(*snapshot_);
    return agreements.any() ? agreements.tier_of(first_policy, dimensions) : dimensions.tier();
  }
  // How to treat a request without a matching policy.
  Unmatched unmatched() const { return in_force_->unmatched; }
  // The snapshot with the policies of the latest plan.
  const std::shared_ptr<const Snapshot>& snapshot() const { return snapshot_; }

  DecisionCounters& counters() { return counters_; }

  // The policies do not change until release() was called as often as hold().
  void hold() {
    refresh_snapshot();
    ++holds_;
  }
  void release() { --holds_; }

 private:
  void match_route(const Dimensions& dimensions);
  void pass_over_silent(const Dimensions& dimensions);
  bool is_silent(const CompiledPolicy& policy, const Dimensions& dimensions);
  // The limits with the numbers of the tier that the request names; what is agreed may replace them.
  static std::span<const CompiledLimit> limits_of(const CompiledPolicy& policy,
                                                  const Dimensions& dimensions) {
    return policy.tiers.empty() ? std::span(policy.limits) : policy.limits_for_tier(dimensions.tier());
  }
  // The limit, or the same one with the numbers of the tier that is agreed. `policy` is the limit's.
  const CompiledLimit& in_agreed_tier(const CompiledPolicy& policy, const CompiledLimit& limit,
                                      const Dimensions& dimensions) {
    return agreements_.any() && !policy.tiers.empty() ? find_agreed_tier(policy, limit, dimensions) : limit;
  }
  const CompiledLimit& find_agreed_tier(const CompiledPolicy& policy, const CompiledLimit& limit,
                                        const Dimensions& dimensions);
  // The override of this limit that is in force now; null: none.
  const CompiledUser::Numbers* override_of(const CompiledLimit& limit, const Dimensions& dimensions);
  void finish_own_policy(const CheckRequest& request);
  std::uint32_t slot_tag(const Dimensions& dimensions, const CompiledPolicy& policy,
                         const CompiledLimit& limit, const KeyHash& key) const;
  void apply_override(const Dimensions& dimensions, Charge& charge, LimitStatus& status);
  void match_own_policy(const CheckRequest& request, const Dimensions& dimensions);
  Result<void> match_named(const CheckRequest& request, Dimensions& dimensions);
  Result<void> find_unknown(const CheckRequest& request, const Dimensions& dimensions, Matches& out) const;
  Result<void> find_named(const CheckRequest& request, Dimensions dimensions, Matches& out) const;
  // For a request without a tenant. `named`: the policy it names, or null.
  std::string_view implied_tenant(const CompiledPolicy* named) const {
    return named && !named->source.tenant.empty() ? std::string_view(named->source.tenant) : default_tenant_;
  }
  Result<void> plan_policy(const CheckRequest& request, const Dimensions& dimensions,
                           const CompiledPolicy& policy, Plan& plan, bool count_skipped);
  const CompiledPolicy* version_for(const CheckRequest& request, const Dimensions& dimensions,
                                    const CompiledPolicy* policy, Purpose purpose);
  void refresh_snapshot() {
    if (holds_ > 0) [[unlikely]]
      return;
    // While this pointer is in use, no other value can have its address.
    if (const PoliciesInForce& newest = policies_.get(); &newest != in_force_) [[unlikely]]
      take(newest);
  }
  void take(const PoliciesInForce& newest);

  PublishedReader<PoliciesInForce> policies_;
  const KeyHasher& hasher_;
  const Clock& clock_;
  const Store& store_;
  const std::string_view default_tenant_;
  const bool places_;
  DecisionCounters counters_;
  const PoliciesInForce* in_force_ = nullptr;  // those that were taken; policies_ keeps them alive
  std::shared_ptr<const Snapshot> snapshot_;   // the same
  int holds_ = 0;

  Agreements agreements_;  // of the request that is being planned
  std::string_view tier_;  // of the latest planned request
  RouteCache routes_;
  RouteCache named_;                // for requests that name their policy: by policy instead of resource
  LastingIdCache lasting_;          // for those that name it by a lasting text
  Matches own_;                     // for a request that brings its own policy, or skips some
  const Matches* matches_ = &own_;  // of the latest plan: own_, or an entry of a cache
  Plan plans_[3];                   // by PlanKind
};

}  // namespace sluice

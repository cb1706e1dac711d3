#pragma once

#include <array>
#include <cstdint>
#include <memory>

#include "base/clock.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/limits.h"
#include "engine/check_request.h"
#include "engine/decision.h"
#include "engine/route_memo.h"
#include "policy/repository.h"
#include "store/async_store.h"
#include "store/store.h"
#include "telemetry/decision_counters.h"

namespace sluice {

// The limits that a request will charge, and the charges themselves. Arrays, whose elements are filled in
// where they stand: that is measurably cheaper than a vector, into which they would be copied.
struct Plan {
  std::size_t size = 0;
  std::array<Charge, kLimitsPerCheckMax> charges;
  // Parallel to charges:
  std::array<LimitStatus, kLimitsPerCheckMax> limits;
  std::array<ChargeResult, kLimitsPerCheckMax> results;  // for a store that answers at once to fill in
};

// What a plan is for.
enum class Purpose : std::uint8_t {
  kLook,   // nothing will change
  kCheck,  // it will be decided: what limits skip for lack of a dimension is counted, candidates are compared
  kAmend,  // counters will change without a decision (a refund, a reset): those that candidates are compared
           // by, too, or they would go on with what the others have forgotten
};

// Finds out what a request will charge: match policies → take their limits → make keys. Not thread-safe: one
// per thread. Allocates nothing once warm.
class Planner {
 public:
  struct Parts {
    const PolicyBoard& policies;
    const KeyHasher& hasher;
    const Clock& clock;  // for `valid_from` only
    DecisionTotals& totals;
    const AsyncStore& store;               // is told of keys as soon as they are known
    std::string_view default_tenant = {};  // of requests that neither have nor imply one; empty: none
    bool places = false;                   // counters live outside the process: say where (Charge::slot_tag)
  };
  explicit Planner(const Parts& parts);  // which outlive it

  // Fills the plans. Errors as Limiter::check().
  Result<void> plan(const CheckRequest& request, Purpose purpose);

  // The same for several requests that are decided together (joint_plan.h): clear(), then add() for each. Two
  // of them may want the same counter; whoever calls puts those charges together.
  void clear() {
    refresh_snapshot();
    enforced().size = shadow().size = comparison().size = 0;
  }
  Result<void> add(const CheckRequest& request, Purpose purpose);
  // The request that was added last brings numbers along; its limits begin at `first`.
  void take_given_numbers(const CheckRequest& request, std::size_t first);

  Plan& enforced() { return plans_[0]; }
  Plan& shadow() { return plans_[1]; }
  // What candidates would charge where their policies decide.
  Plan& comparison() { return plans_[2]; }
  // The most specific policy of the latest plan, or null.
  const CompiledPolicy* first_policy() const {
    return matches_->policies.empty() ? nullptr : matches_->policies.front();
  }
  // Whom a request of the latest plan is about: its own tenant or the implied one. `first_policy` is its most
  // specific policy, or null. Good as long as both the request and the policies are.
  std::string_view tenant_of(const CheckRequest& request, const CompiledPolicy* first_policy) const {
    const std::string_view said = Dimensions(request).tenant();
    if (!said.empty() || request.own_policy) [[likely]]
      return said;
    return implied_tenant(request.policy_id.empty() ? nullptr : first_policy);
  }
  // The same before anything is planned, by the policies in force. Good until the next plan.
  std::string_view tenant_of(const CheckRequest& request) {
    refresh_snapshot();
    return tenant_of(request, snapshot_->find(request.policy_id));
  }

  // The tier that the user of the latest plan was given or, without that, which the request names.
  std::string_view tier() const { return tier_; }
  // Whether the latest plan was for a tier that no policy knows which its tenant may come under: most likely
  // a slip, and it came under the limits for everybody.
  bool has_unknown_tier(const CheckRequest& request) const {
    return !tier_.empty() && !snapshot_->knows_tier(tenant_of(request, first_policy()), tier_);
  }
  // The tier of whoever these dimensions tell of. REQUIRES: something was planned.
  std::string_view tier_of(const Dimensions& dimensions) const {
    const CompiledUser* const user =
        snapshot_->users().empty() ? nullptr : snapshot_->find_user(dimensions.user());
    return tier_of(user, dimensions);
  }
  // What it means if there is none.
  Unmatched unmatched() const { return unmatched_; }
  // Where the policies of the latest plan live.
  const std::shared_ptr<const Snapshot>& snapshot() const { return snapshot_; }

  DecisionCounters& counters() { return counters_; }

  // From hold() to release() the policies stay those they are.
  void hold() {
    refresh_snapshot();
    held_ = true;
  }
  void release() { held_ = false; }

 private:
  void match_route(const Dimensions& dimensions);
  void pass_over_silent(const Dimensions& dimensions);
  bool is_silent(const CompiledPolicy& policy, const Dimensions& dimensions) const;
  std::span<const CompiledLimit> limits_of(const CompiledPolicy& policy) const {
    return policy.tiers.empty() ? std::span(policy.limits) : policy.limits_for_tier(tier_);
  }
  // Whether something is agreed with the user about this limit, and holds now.
  bool has_own_numbers(const CompiledLimit& limit) const;
  void finish_own(const CheckRequest& request);
  std::uint32_t slot_tag(const Dimensions& dimensions, const CompiledPolicy& policy,
                         const CompiledLimit& limit, const KeyHash& key) const;
  void take_own_numbers(const CompiledLimit& limit, Charge& charge, LimitStatus& status) const;
  void match_own(const CheckRequest& request, const Dimensions& dimensions);
  Result<void> match_named(const CheckRequest& request, Dimensions& dimensions);
  Result<void> find_unknown(const CheckRequest& request, const Dimensions& dimensions, Matches& out) const;
  Result<void> find_named(const CheckRequest& request, Dimensions dimensions, Matches& out) const;
  // Of a request that tells none. `named`: the policy it names, or null.
  std::string_view implied_tenant(const CompiledPolicy* named) const {
    return named && !named->source.tenant.empty() ? std::string_view(named->source.tenant) : default_tenant_;
  }
  Result<void> plan_policy(const CheckRequest& request, const Dimensions& dimensions,
                           const CompiledPolicy& policy, Plan& plan, bool count_skipped);
  const CompiledPolicy* version_for(const CheckRequest& request, const Dimensions& dimensions,
                                    const CompiledPolicy* policy, Purpose purpose);
  static std::string_view tier_of(const CompiledUser* user, const Dimensions& dimensions) {
    return user && !user->source.tier.empty() ? std::string_view(user->source.tier) : dimensions.tier();
  }
  void refresh_snapshot() {
    if (policies_.generation() != generation_ && !held_) [[unlikely]]
      load_snapshot();
  }
  void load_snapshot();

  const PolicyBoard& policies_;
  const KeyHasher& hasher_;
  const Clock& clock_;
  const AsyncStore& store_;
  const std::string_view default_tenant_;
  const bool places_;
  DecisionCounters counters_;
  std::shared_ptr<const Snapshot> snapshot_;
  std::uint64_t generation_ = 0;
  bool held_ = false;
  Unmatched unmatched_ = Unmatched::kNoPolicy;  // as the board had it with this snapshot

  const CompiledUser* user_ = nullptr;  // of the latest plan; null: nothing is agreed with this user
  std::string_view tier_;               // of the latest plan
  RouteMemo memo_;
  RouteMemo named_memo_;            // of requests that name their policy: by that instead of the resource
  LastingIdMemo lasting_memo_;      // of those that name it by a lasting text
  Matches own_;                     // of a request that brings its policy, or passes over some
  const Matches* matches_ = &own_;  // of the latest plan: own_, or a place of a memo
  Plan plans_[3];                   // enforced, shadow, comparison
};

}  // namespace sluice

#pragma once

#include <array>
#include <cassert>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/error.h"
#include "base/hash.h"
#include "engine/big_switch.h"
#include "engine/check_request.h"
#include "engine/decision.h"
#include "engine/failure_rule.h"
#include "engine/joint_plan.h"
#include "engine/pending_check.h"
#include "engine/planner.h"
#include "engine/store_placement.h"
#include "policy/repository.h"
#include "store/async_store.h"
#include "telemetry/decision_counters.h"

namespace sluice {

// Which counters a reset may touch, of those that a check of its request would charge.
struct ResetReach {
  bool all_tenants = true;  // false: only those that count the request's tenant alone
  bool shared = false;      // true: also caps, in which others count beside whom the request names
};

// To which counters whoever gives units back may give them. From the others nothing is taken; a metric counts
// that.
enum class RefundReach : std::uint8_t {
  kNothing,
  kOwnTenants,  // those that count the request's tenant alone
  kEverything,
};

// Decides checks: match policies → make keys → charge the store → explain. Not thread-safe: one per thread.
// All of them share the policies and the hasher, which must outlive them. Allocates nothing once warm, if the
// store answers at once.
//
//   Limiter limiter({store, board, hasher, clock, totals});
//   auto decision = limiter.check({.tenant = "search-service", .resource = "/search", .key = "user_123"});
//   if (!decision) return report(decision.error());   // nothing was charged
//   if (!decision->allowed) sleep_ms(decision->retry_after_ms());
//
// With a store that is a network away the answer comes now or later; `postpone` is called only if it is
// later, and makes the function that will get it:
//
//   auto decision = limiter.check(request, [&] {
//     return [caller = remember_caller()](const Result<Decision>& late) { caller.answer(late); };
//   });
//   if (decision) answer(*decision);
class Limiter final : private PendingCheckEvents {
 public:
  struct Parts {
    AsyncStore& store;
    const PolicyBoard& policies;
    const KeyHasher& hasher;
    const Clock& clock;  // for `valid_from` and deadlines: the store's clock decides
    DecisionTotals& totals;
    Store* local = nullptr;               // where `on_failure: local` counts; null: such policies are closed
    StorePlacement* placement = nullptr;  // null: all counters are in `store`
    const BigSwitch* big_switch = nullptr;  // while it is open all is allowed; null: there is none
    std::string_view default_tenant = {};   // of requests that neither have nor imply one; empty: none
  };
  explicit Limiter(const Parts& parts);

  using Later = std::function<void(const Result<Decision>&)>;
  using LaterCount = std::function<void(const Result<int>&)>;
  using LaterTogether = std::function<void(const Result<JointDecision>&)>;

  // Errors: kPolicyNotFound; kInvalidArgument for a field out of bounds or a required dimension that is
  // absent; kFailedPrecondition for a request_id that was used for another request; kOverloaded: the store
  // works, but has too much to do. An error charges nothing, unless the caller went while the store was
  // asked.
  template <class Postpone>
  std::optional<Result<Decision>> check(const CheckRequest& request, const Postpone& postpone) {
    return ask(request, false, postpone);
  }

  // Several checks in one step of the store: all are charged or, if one is denied, none (but limits that
  // count what they deny). If the store is gone, each policy's rule decides for its own check, and all must
  // allow. Errors as check(), of which the field begins with the request's position: "[2].cost".
  // REQUIRES: one request at least; none has a request_id; their deadlines are the same.
  template <class Postpone>
  std::optional<Result<JointDecision>> check_together(std::span<const CheckRequest> requests,
                                                      const Postpone& postpone) {
    return ask_together(requests, false, postpone);
  }

  // Gives back what checks of these requests have charged, nobody remembers when: the costs leave the
  // counters, what came last first, and never more than there is (algorithm/refund.h). Limits that count what
  // they deny give back as well. All parts are allowed and tell the levels afterwards; no metric counts them
  // as checks. While the switch is open nothing happens. Errors as check_together(); and kUnavailable: maybe
  // something was given back. REQUIRES: as check_together(), and none fits_nowhere.
  template <class Postpone>
  std::optional<Result<JointDecision>> give_back(std::span<const CheckRequest> requests, RefundReach reach,
                                                 const Postpone& postpone) {
    std::optional<Result<JointDecision>> answer(std::in_place);
    if (PendingCheck* const pending = begin_give_back(requests, reach, *answer)) {
      pending->later_together = postpone();
      answer.reset();
    }
    return answer;
  }

  // Errors that give_back() would report for these requests whatever the store says.
  Result<void> validate_give_back(std::span<const CheckRequest> requests);

  // Looks without charging. A request without any limit gets an answer without limits. Errors: kUnavailable,
  // too.
  template <class Postpone>
  std::optional<Result<Decision>> usage(const CheckRequest& request, const Postpone& postpone) {
    return ask(request, true, postpone);
  }

  // usage() of several requests in one step of the store. Errors as usage(), with fields as check_together().
  // REQUIRES: as check_together(), and that all have the cost 0.
  template <class Postpone>
  std::optional<Result<JointDecision>> usage_together(std::span<const CheckRequest> requests,
                                                      const Postpone& postpone) {
    return ask_together(requests, true, postpone);
  }

  // Counts a check as denied by this policy, for a caller who looked at it and then did not ask for it.
  // REQUIRES: the policy is one of the latest answer.
  void count_denied(const CompiledPolicy& policy) {
    planner_.counters().add(policy, DecisionCounters::kDenied);
  }

  // Forgets the counters that a check of this request would charge and that `reach` leaves; with a policy_id,
  // only those of that policy. Tells how many there were. kPermissionDenied: `reach` leaves none of them.
  template <class Postpone>
  std::optional<Result<int>> reset(const CheckRequest& request, ResetReach reach, const Postpone& postpone) {
    const std::shared_ptr<PendingReset> pending = begin_reset(request, reach);
    if (!pending->answer) pending->later = postpone();
    return std::move(pending->answer);
  }

  // The same for stores that answer at once.
  Result<Decision> check(const CheckRequest& request) { return ask_at_once(request, false); }
  Result<Decision> usage(const CheckRequest& request) { return ask_at_once(request, true); }
  Result<int> reset(const CheckRequest& request, ResetReach reach = {}) {
    return *reset(request, reach, []() -> LaterCount {
      assert(false && "the store does not answer at once");
      return {};
    });
  }

  // On whose behalf it is asked from now on: one number for each connection, say. A store that has too much
  // to do shares its time out between callers.
  void speak_for(std::uint32_t caller) { caller_ = caller; }

  // Whether checks without a tenant have one all the same.
  bool has_default_tenant() const { return !parts_.default_tenant.empty(); }
  // Whom a check of this request would be about: its own tenant, or the one that it implies by naming a
  // policy. Good until the next call.
  std::string_view tenant_of(const CheckRequest& request) { return planner_.tenant_of(request); }

  // While it is open check() allows whatever is well-formed.
  bool is_switch_open() const { return switch_.is_open(); }

  // Errors that check() would report for this request, without charging: for batches, which are refused as a
  // whole.
  Result<void> validate(const CheckRequest& request);

  // How the store will recognise the request, or nothing if it has no id or charges nothing. For batches,
  // which may use an id twice. REQUIRES: validate(request) was the latest call, and found it valid.
  std::optional<Dedupe> identity(const CheckRequest& request);

  // kFailedPrecondition, naming request_id: it was used for another request.
  static Error request_id_conflict();

  // While it lives, the Limiter stays with the policies it has: a batch that was found valid is decided by
  // the same.
  class Hold {
   public:
    explicit Hold(Limiter& limiter) : planner_(limiter.planner_) { planner_.hold(); }
    ~Hold() { planner_.release(); }
    // The policies it stays with.
    const Snapshot& policies() const { return *planner_.snapshot(); }
    Hold(const Hold&) = delete;
    Hold& operator=(const Hold&) = delete;

   private:
    Planner& planner_;
  };

  // While it lives, checks that meet on a counter are decided in the order in which they are asked, whichever
  // tenants they are of: a store that shares its time out between tenants takes them for the first one's.
  // For batches: who asks for several things in one request hears of none before the last is decided.
  class InOrder {
   public:
    explicit InOrder(Limiter& limiter) : limiter_(limiter) { limiter_.turns_ = Turns::kNextTenants; }
    ~InOrder() { limiter_.turns_ = Turns::kEachTenants; }
    InOrder(const InOrder&) = delete;
    InOrder& operator=(const InOrder&) = delete;

   private:
    Limiter& limiter_;
  };

 private:
  static constexpr std::size_t kEnforced = 0, kShadow = 1, kComparison = 2;
  // The call that a store which answers at once is asked with: it points into the plan.
  class InstantCall final : public StoreCall {
    void on_done() override {}
  };
  struct PendingReset {
    std::optional<Result<int>> answer;
    LaterCount later;
  };
  // Filled in where it stands, new at first: a Decision is large enough for copies to show.
  using Answer = Result<Decision>;
  // What the answers belong to.
  struct Asked {
    const CompiledPolicy* first_policy;
    bool is_look;                   // or a refund: not counted
    std::int64_t refund_of_us = 0;  // as StoreCall's
  };

  template <class Postpone>
  std::optional<Result<Decision>> ask(const CheckRequest& request, bool is_look, const Postpone& postpone) {
    std::optional<Answer> answer(std::in_place);
    if (PendingCheck* const pending = begin(request, is_look, *answer)) {
      pending->later = postpone();
      answer.reset();
    }
    return answer;
  }
  template <class Postpone>
  std::optional<Result<JointDecision>> ask_together(std::span<const CheckRequest> requests, bool is_look,
                                                    const Postpone& postpone) {
    std::optional<Result<JointDecision>> answer(std::in_place);
    if (PendingCheck* const pending = begin_together(requests, is_look, *answer)) {
      pending->later_together = postpone();
      answer.reset();
    }
    return answer;
  }
  Answer ask_at_once(const CheckRequest& request, bool is_look) {
    Answer answer;
    [[maybe_unused]] const PendingCheck* const pending = begin(request, is_look, answer);
    assert(!pending && "the store does not answer at once");
    return answer;
  }

  // Null: `answer` is there.
  PendingCheck* begin(const CheckRequest& request, bool is_look, Answer& answer);
  void let_pass(const CheckRequest& request, Answer& answer);
  void warn_of_tier(const CheckRequest& request, bool is_look, Answer& answer);
  PendingCheck* begin_later(AsyncStore& store, const CheckRequest& request, bool is_look, Answer& answer);
  PendingCheck& make_pending(const CheckRequest& request, const Asked& asked);
  void ask_now(AsyncStore& store, const CheckRequest& request, const Asked& asked, Answer& answer);
  PendingCheck* begin_together(std::span<const CheckRequest> requests, bool is_look,
                               Result<JointDecision>& answer);
  PendingCheck* begin_give_back(std::span<const CheckRequest> requests, RefundReach reach,
                                Result<JointDecision>& answer);
  void keep_within(RefundReach reach);
  void count_given_back(const Answered& enforced);
  PendingCheck* ask_planned(AsyncStore& store, const CheckRequest& first, const Asked& asked,
                            Result<JointDecision>& answer);
  void let_pass_together(std::span<const CheckRequest> requests, Result<JointDecision>& answer);
  bool refuse_unknown(bool is_look, Result<JointDecision>& answer);
  Result<AsyncStore*> plan_all(std::span<const CheckRequest> requests, Purpose purpose);
  void conclude_parts(const JointPlan& plan, const Answered& enforced, const Answered& shadow,
                      const Answer& overall, Result<JointDecision>& answer);
  // REQUIRES: the plan has charges.
  void ask_half(std::size_t half, AsyncStore& store, Plan& plan, const CheckRequest& request,
                const Asked& asked, Answered& answered);
  std::string_view planned_tenant(const CheckRequest& request) const {
    return planner_.tenant_of(request, planner_.first_policy());
  }
  AsyncStore& store_for(const CheckRequest& request) const {
    if (!parts_.placement) [[likely]]
      return parts_.store;
    return parts_.placement->store_for(planned_tenant(request), planner_.tier());
  }
  void conclude(const Asked& asked, const Answered& enforced, const Answered& shadow, Answer& answer);
  void count(const Answered& enforced, const Decision& decision);
  void compare_now(AsyncStore& store, const CheckRequest& request, const Asked& asked,
                   const Answered& enforced, const Answered& shadow);
  Result<void> plan_look(CheckRequest request);
  std::optional<Dedupe> identity(const CheckRequest& request, const Plan& plan, std::size_t half);
  std::int64_t store_time_us();
  Flow flow_of(std::uint32_t tenant_tag);
  static std::int64_t caller_deadline_us(const CheckRequest& request, std::int64_t now_us);
  std::shared_ptr<PendingReset> begin_reset(const CheckRequest& request, ResetReach reach);
  void on_answered(PendingCheck& pending) override;
  void finish(PendingCheck& pending, Answer& answer);
  PendingCheck& take_pending();

  Parts parts_;
  std::uint32_t caller_ = 0;
  enum class Turns : std::uint8_t { kEachTenants, kNextTenants, kOneTenants } turns_ = Turns::kEachTenants;
  std::uint32_t turns_of_ = 0;  // kOneTenants: whose
  const BigSwitch& switch_;
  Planner planner_;
  FailureRule failure_rule_;
  JointPlan joint_plan_;
  JointExplainer joint_explainer_;
  InstantCall calls_[3];                                // by kEnforced, kShadow, kComparison
  std::vector<std::unique_ptr<PendingCheck>> pending_;  // all, in use or not
  std::vector<PendingCheck*> free_;
  std::string scratch_;
};

}  // namespace sluice

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
#include "base/secret/hash.h"
#include "engine/admission/big_switch.h"
#include "engine/decision/decision.h"
#include "engine/failure/failure_rule.h"
#include "engine/hot/hot_sketch.h"
#include "engine/lease/lease.h"
#include "engine/observe/decision_watch.h"
#include "engine/pending_check.h"
#include "engine/planner/joint_plan.h"
#include "engine/planner/planner.h"
#include "engine/request/check_request.h"
#include "engine/store_placement.h"
#include "policy/snapshot/snapshot_publisher.h"
#include "store/store.h"
#include "telemetry/decision_counters.h"

namespace sluice {

// Which counters a reset may touch, of those that a check of the same request would charge.
struct ResetReach {
  bool all_tenants = true;  // false: only counters of the request's tenant alone
  bool shared = false;      // true: also caps that others share
};

// Which counters a refund may change. The others are left alone; a metric counts that.
enum class RefundReach : std::uint8_t {
  kNothing,
  kOwnTenants,  // counters of the request's tenant alone
  kEverything,
};

// Decides checks: match policies → make keys → charge the store → explain. Not thread-safe: one per thread.
// All Engines share the policies and the hasher, which must outlive them. Allocates nothing once warm, if
// the store answers at once.
//
//   Engine engine({store, snapshots, hasher, clock, totals});
//   auto decision = engine.check({.tenant = "search-service", .resource = "/search", .key = "user_123"});
//   if (!decision) return report(decision.error());   // nothing was charged
//   if (!decision->allowed) sleep_ms(decision->retry_after_ms());
//
// With a store behind a network the answer comes now or later. `postpone` is called only if it comes later,
// and makes the function that will receive it:
//
//   auto decision = engine.check(request, [&] {
//     return [caller = remember_caller()](const Result<Decision>& late) { caller.answer(late); };
//   });
//   if (decision) answer(*decision);
class Engine final : private PendingCheckEvents {
 public:
  struct Parts {
    Store& store;
    const SnapshotPublisher& policies;
    const KeyHasher& hasher;
    const Clock& clock;  // for `valid_from` and deadlines; decisions use the store's clock
    DecisionTotals& totals;
    Counters* local = nullptr;            // counters of `on_failure: local`; null: such policies fail closed
    StorePlacement* placement = nullptr;  // null: all counters are in `store`
    const BigSwitch* big_switch = nullptr;  // while it is open, every check is allowed; null: none
    std::string_view default_tenant = {};   // for requests that neither have nor imply one; empty: none
    HotSketch* hot = nullptr;               // which keys are busy; null: nobody wants to know
    std::span<DecisionObserver* const> observers = {};  // of what is decided; they outlive the engine
  };
  explicit Engine(const Parts& parts);

  using Later = std::function<void(const Result<Decision>&)>;
  using LaterCount = std::function<void(const Result<int>&)>;
  using LaterTogether = std::function<void(const Result<JointDecision>&)>;

  // Errors: kPolicyNotFound; kInvalidArgument for a field out of bounds or a required dimension that is
  // absent; kFailedPrecondition for a request_id that was used for another request; kOverloaded: the store
  // works, but is overloaded. An error charges nothing, unless the caller disconnected while the store was
  // deciding.
  template <class Postpone>
  std::optional<Result<Decision>> check(const CheckRequest& request, const Postpone& postpone) {
    return ask(request, Purpose::kCheck, postpone);
  }

  // Decides several checks in one step of the store: all are charged or, if one is denied, none (except
  // limits that count what they deny). If the store does not answer, each policy's failure rule decides for
  // its own check, and all must allow. Errors as check(); `item` is the request's position.
  // REQUIRES: at least one request; none has a request_id; their deadlines are the same.
  template <class Postpone>
  std::optional<Result<JointDecision>> check_together(std::span<const CheckRequest> requests,
                                                      const Postpone& postpone) {
    return ask_together(requests, Purpose::kCheck, postpone);
  }

  // Gives back what earlier checks of these requests have charged: the costs are taken from the counters, the
  // most recent charges first, and never more than there is (algorithm/refund.h). Limits that count what they
  // deny give back as well. All parts are allowed and report the levels afterwards; no metric counts them as
  // checks. While the switch is open nothing happens. Errors as check_together(), and kUnavailable: something
  // may have been given back. REQUIRES: as check_together(), and none fits_nowhere.
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

  // Reports the errors that give_back() would report for these requests, whatever the store answers.
  Result<void> validate_give_back(std::span<const CheckRequest> requests);

  // Leases units (lease/lease.h): charges as many as all limits have room for, at most the request's cost. A
  // lease without units says when there will be one. Limits that count what they deny do not count that. No
  // failure rule applies, because the holder has its own. Shadow policies take no part.
  // Errors: as check(); kFailedPrecondition: no limit applies; kUnavailable: the store gave no answer, or the
  // switch is open. REQUIRES: the request has a request_id, which its repeats have, too.
  template <class Postpone>
  std::optional<Result<Lease>> lease(const CheckRequest& request, const Postpone& postpone) {
    LeaseClaim claim(request);
    Answer answer;
    if (PendingCheck* const pending = begin_lease(request, claim, answer)) {
      pending->later = [this, claim = std::move(claim), later = postpone()](const Result<Decision>& late) {
        later(leased(claim, late));
      };
      return std::nullopt;
    }
    return leased(claim, answer);
  }

  // Gives `unused` units of a lease back, once, to the limits and the period that they were taken from; if
  // the limits have changed since, to none. Errors: kInvalidArgument: more than was granted; kNotFound: the
  // lease has expired, or was returned before; kUnavailable: it is not known whether it was returned.
  template <class Postpone>
  std::optional<Result<void>> return_lease(const LeaseClaim& claim, std::int64_t unused,
                                           const Postpone& postpone) {
    const auto returned = [](const Result<Decision>& answer) {
      return answer ? Result<void>() : std::unexpected(answer.error());
    };
    Answer answer;
    if (PendingCheck* const pending = begin_return(claim, unused, answer)) {
      pending->later = [returned, later = postpone()](const Result<Decision>& late) {
        later(returned(late));
      };
      return std::nullopt;
    }
    return returned(answer);
  }

  // What a lease id says; kNotFound: nothing.
  Result<LeaseClaim> read_lease(std::string_view id) const { return read_lease_id(id, parts_.hasher); }

  // Reads the levels without charging. A request that no limit applies to gets an answer without limits.
  // Errors as check(), and kUnavailable.
  template <class Postpone>
  std::optional<Result<Decision>> usage(const CheckRequest& request, const Postpone& postpone) {
    return ask(request, Purpose::kLook, postpone);
  }

  // usage() of several requests in one step of the store. Errors as usage(), with `item` as in
  // check_together(). REQUIRES: as check_together(), and every cost is 0.
  template <class Postpone>
  std::optional<Result<JointDecision>> usage_together(std::span<const CheckRequest> requests,
                                                      const Postpone& postpone) {
    return ask_together(requests, Purpose::kLook, postpone);
  }

  // Counts a check as denied by this policy, for callers that looked at it and then skipped the check.
  // REQUIRES: the policy is in the latest answer.
  void count_denied(const CompiledPolicy& policy) {
    planner_.counters().turn_to(policy);
    planner_.counters().add(policy, DecisionCounters::kDenied);
  }

  // Resets the counters that a check of this request would charge, as far as `reach` permits; with a
  // policy_id, only those of that policy. Reports how many existed. kPermissionDenied: `reach` permits none
  // of them.
  template <class Postpone>
  std::optional<Result<int>> reset(const CheckRequest& request, ResetReach reach, const Postpone& postpone) {
    const std::shared_ptr<PendingReset> pending = begin_reset(request, reach);
    if (!pending->answer) pending->later = postpone();
    return std::move(pending->answer);
  }

  // The same for stores that answer at once.
  Result<Decision> check(const CheckRequest& request) { return ask_at_once(request, Purpose::kCheck); }
  Result<Decision> usage(const CheckRequest& request) { return ask_at_once(request, Purpose::kLook); }
  Result<int> reset(const CheckRequest& request, ResetReach reach = {}) {
    return *reset(request, reach, []() -> LaterCount {
      assert(false && "the store does not answer at once");
      return {};
    });
  }

  // Names the caller of the following checks: for example one number per connection. An overloaded store
  // shares its time out between callers.
  void set_caller(std::uint32_t caller) { caller_ = caller; }

  // Whether checks without a tenant get a default one.
  bool has_default_tenant() const { return !parts_.default_tenant.empty(); }
  // The tenant of a check of this request: its own, or the one implied by the policy it names. Valid until
  // the next call.
  std::string_view tenant_of(const CheckRequest& request) { return planner_.tenant_of(request); }

  // While it is open, check() allows every valid request.
  bool is_switch_open() const { return switch_.is_open(); }

  // Reports the errors that check() would report for this request, without charging. For batches, which are
  // refused as a whole.
  Result<void> validate(const CheckRequest& request);

  // How the store will recognise the request; nullopt if it has no id or charges nothing. For batches, which
  // may use an id twice. REQUIRES: the latest call was validate(request), and it succeeded.
  std::optional<Dedupe> identity(const CheckRequest& request);

  // kFailedPrecondition on the field request_id: it was used for another request.
  static Error request_id_conflict();

  // While one exists, the Engine keeps its current policies: a batch that was validated is decided by the
  // same ones.
  class Hold {
   public:
    explicit Hold(Engine& engine) : planner_(engine.planner_) { planner_.hold(); }
    ~Hold() { planner_.release(); }
    // The policies that are kept.
    const Snapshot& policies() const { return *planner_.snapshot(); }
    Hold(const Hold&) = delete;
    Hold& operator=(const Hold&) = delete;

   private:
    Planner& planner_;
  };

  // While it exists, checks that share a counter are decided in the order in which they are asked, across
  // tenants: a store that shares its time out between tenants treats them all as the first one's. For
  // batches: their callers get no answer before the last check is decided.
  class InOrder {
   public:
    explicit InOrder(Engine& engine) : engine_(engine) {
      engine_.in_order_ = true;
      engine_.first_in_order_.reset();
    }
    ~InOrder() { engine_.in_order_ = false; }
    InOrder(const InOrder&) = delete;
    InOrder& operator=(const InOrder&) = delete;

   private:
    Engine& engine_;
  };

 private:
  // The call for a store that answers at once: it points into the plan.
  class InstantCall final : public StoreCall {
    void on_done() override {}
  };
  struct PendingReset {
    std::optional<Result<int>> answer;
    LaterCount later;
  };
  // Filled in place, because a Decision is so large that copies are measurable. REQUIRES: it is new.
  using Answer = Result<Decision>;
  // What the store was asked, to make an answer of its reply.
  struct Asked {
    const CompiledPolicy* first_policy;
    Purpose purpose;                // other than kCheck: is not counted and has no failure rule
    std::int64_t refund_of_us = 0;  // as in StoreCall

    bool is_check() const { return purpose == Purpose::kCheck; }
  };

  // The functions below that return a PendingCheck* return the check that waits for the store, or kAnswered:
  // nothing waits, and `answer` is complete.
  static constexpr PendingCheck* kAnswered = nullptr;

  template <class Postpone>
  std::optional<Result<Decision>> ask(const CheckRequest& request, Purpose purpose,
                                      const Postpone& postpone) {
    std::optional<Answer> answer(std::in_place);
    if (PendingCheck* const pending = begin(request, purpose, *answer)) {
      pending->later = postpone();
      answer.reset();
    }
    return answer;
  }
  template <class Postpone>
  std::optional<Result<JointDecision>> ask_together(std::span<const CheckRequest> requests, Purpose purpose,
                                                    const Postpone& postpone) {
    std::optional<Result<JointDecision>> answer(std::in_place);
    if (PendingCheck* const pending = begin_together(requests, purpose, *answer)) {
      pending->later_together = postpone();
      answer.reset();
    }
    return answer;
  }
  Answer ask_at_once(const CheckRequest& request, Purpose purpose) {
    Answer answer;
    [[maybe_unused]] const PendingCheck* const pending = begin(request, purpose, answer);
    assert(pending == kAnswered && "the store does not answer at once");
    return answer;
  }

  // Hot keys: engine_hot.cc.
  bool picks() { return parts_.hot && parts_.hot->picks(); }
  void name_keys(std::span<const CheckRequest> requests, const JointPlan* joint, HotNames& names);
  void note_hot(const StoreCall& call, std::span<const LimitStatus> limits, const HotNames& names,
                double checks);
  void note_picked(std::span<const CheckRequest> requests, const JointPlan* joint);
  void advise_lease(std::span<const Charge> charges, Answer& answer) const;

  // Observers: engine_observe.cc.
  static AskedTexts texts_of(const CheckRequest& request, std::string_view tenant);
  void keep_texts(std::span<const CheckRequest> requests, const JointPlan* joint, KeptTexts& kept);
  void tell(const AskedTexts& asked, const Decision& decision, const Decision* joint,
            std::optional<std::int64_t> took_ns);
  void tell_of(const CheckRequest& request, std::string_view tenant, const Decision& decision,
               std::optional<std::int64_t> took_ns);
  // `joint`: how they were planned; null: the switch is open.
  void tell_of_parts(std::span<const CheckRequest> requests, const JointPlan* joint,
                     const Result<JointDecision>& answer);
  void tell_late(PendingCheck& pending, const Answer& answer);
  void tell_late(PendingCheck& pending, const Result<JointDecision>& answer);

  Result<Lease> leased(const LeaseClaim& claim, const Answer& answer) const {
    if (!answer) return std::unexpected(answer.error());
    return make_lease(claim, *answer, parts_.hasher, parts_.clock.now_us());
  }
  static Result<void> validate_lease(const CheckRequest& request);
  Result<Dedupe> plan_lease(const CheckRequest& request);
  PendingCheck* begin_lease(const CheckRequest& request, LeaseClaim& claim, Answer& answer);
  PendingCheck* begin_return(const LeaseClaim& claim, std::int64_t unused, Answer& answer);
  PendingCheck* ask_lease(const CheckRequest& request, const Asked& asked, const Dedupe& identity,
                          Answer& answer);
  void conclude_lease(const Asked& asked, const StoreCall& call, const HotNames& names, Answer& answer);
  static PendingCheck* fail(Error error, Answer& answer);

  PendingCheck* begin(const CheckRequest& request, Purpose purpose, Answer& answer);
  void let_pass(const CheckRequest& request, Answer& answer);
  void count_refused(const Error& error);
  void measure(const Answer& answer, std::optional<std::int64_t> took_ns);
  void warn_of_tier(const CheckRequest& request, Purpose purpose, Answer& answer);
  PendingCheck* begin_later(Store& store, const CheckRequest& request, Purpose purpose, Answer& answer);
  PendingCheck& make_pending(const CheckRequest& request, const Asked& asked);
  // Reports how long a check took, if it was timed.
  std::optional<std::int64_t> ask_now(Store& store, const CheckRequest& request, const Asked& asked,
                                      Answer& answer);
  PendingCheck* begin_together(std::span<const CheckRequest> requests, Purpose purpose,
                               Result<JointDecision>& answer);
  PendingCheck* begin_give_back(std::span<const CheckRequest> requests, RefundReach reach,
                                Result<JointDecision>& answer);
  void keep_within(RefundReach reach);
  void count_given_back(const Answered& enforced);
  PendingCheck* ask_planned(Store& store, std::span<const CheckRequest> requests, const Asked& asked,
                            Result<JointDecision>& answer);
  void let_pass_together(std::span<const CheckRequest> requests, Result<JointDecision>& answer);
  bool refuse_unknown(Purpose purpose, Result<JointDecision>& answer);
  Result<Store*> plan_all(std::span<const CheckRequest> requests, Purpose purpose);
  void conclude_parts(const JointPlan& plan, const Answered& enforced, const Answered& shadow,
                      const Answer& overall, Result<JointDecision>& answer);
  // REQUIRES: the plan has charges.
  void ask_about(PlanKind kind, Store& store, const CheckRequest& request, const Asked& asked,
                 Answered& answered);
  std::string_view planned_tenant(const CheckRequest& request) const {
    return planner_.tenant_of(request, planner_.first_policy());
  }
  Store& store_for(const CheckRequest& request) const {
    if (!parts_.placement) [[likely]]
      return parts_.store;
    return parts_.placement->store_for(planned_tenant(request), planner_.tier());
  }
  // Whether the counters are in this process, as those of `on_failure: local` are.
  enum class Asking : std::uint8_t { kHere, kElsewhere };
  void conclude(const Asked& asked, const Answered& enforced, const Answered& shadow, Answer& answer,
                Asking where);
  void count(const Answered& enforced, const Decision& decision);
  void count_partly(const Answered& enforced, bool replayed);
  void compare_now(Store& store, const CheckRequest& request, const Asked& asked, const Answered& enforced,
                   const Answered& shadow);
  Result<void> plan_look(CheckRequest request);
  std::optional<Dedupe> identity(const CheckRequest& request, PlanKind kind);
  std::int64_t store_time_us();
  Flow flow_of(std::uint32_t tenant_tag);
  static std::int64_t caller_deadline_us(const CheckRequest& request, std::int64_t now_us);
  std::shared_ptr<PendingReset> begin_reset(const CheckRequest& request, ResetReach reach);
  void on_answered(PendingCheck& pending) override;
  void finish(PendingCheck& pending, Answer& answer);
  PendingCheck& take_pending();

  Parts parts_;
  std::uint32_t caller_ = 0;
  bool in_order_ = false;                        // an InOrder exists
  std::optional<std::uint32_t> first_in_order_;  // the tenant of its first check, by its tag
  const BigSwitch& switch_;
  Planner planner_;
  FailureRule failure_rule_;
  JointPlan joint_plan_;
  JointExplainer joint_explainer_;
  InstantCall calls_[3];                                // by PlanKind
  std::vector<std::unique_ptr<PendingCheck>> pending_;  // all of them, in use or free
  std::vector<PendingCheck*> free_;
  std::string scratch_;
  HotNames hot_names_;
  DecisionWatch watch_;
};

}  // namespace sluice

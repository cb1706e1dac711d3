#include "engine/engine.h"

#include <algorithm>
#include <cassert>
#include <chrono>
#include <utility>

#include "base/steady_now.h"
#include "engine/decision/check_error.h"
#include "engine/planner/slot_tag.h"
#include "engine/request/request_identity.h"

namespace sluice {
namespace {

constexpr char kKindNames[] = {'e', 's', 'c'};  // by PlanKind
constexpr std::int64_t kMarginUs = 2'000;       // for our answer to reach a caller who waits only so long

Error no_answer() { return {ErrorCode::kUnavailable, "the store does not answer; try again", ""}; }

Error store_full() {
  return {ErrorCode::kUnavailable,
          "the store is full: it has no memory for another counter or record, and nothing was charged; it "
          "needs more memory, or counters have to expire first",
          ""};
}

Error overloaded() {
  return {ErrorCode::kOverloaded,
          "not decided: the store is overloaded, or the deadline of the call is too short; try again later",
          ""};
}

std::int64_t ns_now() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(steady_now().time_since_epoch()).count();
}

void count_passed(const LimitStatus& status, DecisionCounters& counters) {
  counters.add_limit(*status.policy, *status.limit, DecisionCounters::kPassed);
  if (status.result->pressure != Pressure::kNormal) [[unlikely]]
    counters.add_limit(*status.policy, *status.limit, DecisionCounters::kPassedNear);
}

// Whether the limits of that policy have room; nullopt if they were not asked, or gave no answer.
std::optional<bool> allows(const Answered& answered, const std::string& policy_id) {
  if (!is_answer(answered.verdict)) return std::nullopt;
  std::optional<bool> allowed;
  for (const LimitStatus& status : answered.limits)
    if (status.policy->source.id == policy_id)
      allowed = allowed.value_or(true) && status.result->outcome.retry_after_us == 0;
  return allowed;
}

// Counts where candidates would have decided differently from their policies: compares the results of the
// candidates' limits with those of the policies' own limits, enforced or shadow. If either side made no real
// decision (no answer, a replay, every limit skipped), it is not compared.
void count_differences(const Answered& candidates, const Answered& enforced, const Answered& shadow,
                       DecisionCounters& counters) {
  for (const Answered* answered : {&candidates, &enforced, &shadow})
    if (answered->replayed || answered->conflict) return;
  const CompiledPolicy* last = nullptr;
  for (const LimitStatus& status : candidates.limits) {
    if (status.policy == last) continue;  // the limits of a policy are adjacent
    last = status.policy;
    const std::string& id = last->source.id;
    const auto newly = allows(candidates, id);
    const auto live = allows(enforced, id);
    const auto before = live ? live : allows(shadow, id);
    if (!newly || !before) continue;
    counters.add(*last, DecisionCounters::kCompared);
    if (*before && !*newly) counters.add(*last, DecisionCounters::kNewlyDenied);
    if (!*before && *newly) counters.add(*last, DecisionCounters::kNewlyAllowed);
  }
}

}  // namespace

Engine::Engine(const Parts& parts)
    : parts_(parts),
      switch_(parts.big_switch ? *parts.big_switch : BigSwitch::never_open()),
      planner_({parts.policies, parts.hasher, parts.clock, parts.totals, parts.store, parts.default_tenant,
                !parts.store.answers_at_once() || parts.placement != nullptr}),
      failure_rule_(parts.local),
      watch_(parts.observers, parts.clock) {}

// Flattened: every check passes through here, and usually, with a store that answers at once, nothing else of
// this file is called.
[[gnu::flatten]] PendingCheck* Engine::begin(const CheckRequest& request, Purpose purpose, Answer& answer) {
  const bool is_look = purpose == Purpose::kLook;
  if (switch_.is_open() && !is_look) [[unlikely]] {
    let_pass(request, answer);
    if (answer && watch_.picks(request.tenant, *answer, request.trace, std::nullopt))
      tell_of(request, planner_.tenant_of(request), *answer, std::nullopt);
    return kAnswered;
  }
  const Result<void> planned = is_look ? plan_look(request) : planner_.plan(request, Purpose::kCheck);
  if (!planned) [[unlikely]] {
    answer = std::unexpected(planned.error());
    if (!is_look) count_refused(planned.error());
    return kAnswered;
  }
  Store& store = store_for(request);
  if (!store.answers_at_once() && planner_.enforced().size + planner_.shadow().size > 0)
    return begin_later(store, request, purpose, answer);
  const auto took_ns = ask_now(store, request, {planner_.first_policy(), purpose}, answer);
  if (!planner_.tier().empty()) [[unlikely]]
    warn_of_tier(request, purpose, answer);
  if (parts_.hot && !is_look) [[likely]] {
    if (parts_.hot->picks()) [[unlikely]]
      note_picked({&request, 1}, nullptr);
    if (parts_.hot->has_promoted()) [[unlikely]]
      advise_lease({planner_.enforced().charges.data(), planner_.enforced().size}, answer);
  }
  if (!is_look && answer && watch_.picks(request.tenant, *answer, request.trace, took_ns)) [[unlikely]]
    tell_of(request, planned_tenant(request), *answer, took_ns);
  return kAnswered;
}

[[gnu::noinline, gnu::cold]] void Engine::warn_of_tier(const CheckRequest& request, Purpose purpose,
                                                       Answer& answer) {
  if (!answer || !planner_.has_unknown_tier(request)) return;
  answer->unknown_tier = 1;
  if (purpose == Purpose::kCheck) planner_.counters().add_unknown_tier();
}

// The switch is open. No policy is evaluated, whatever its limits say; only malformed requests are refused.
[[gnu::noinline, gnu::cold]] void Engine::let_pass(const CheckRequest& request, Answer& answer) {
  if (auto valid = sluice::validate(request); !valid)
    return void(answer = std::unexpected(std::move(valid.error())));
  answer->reason = Reason::kSwitch;
  answer->degraded = true;
  answer->cost = request.cost.value_or(1);
  planner_.counters().add_switched();
  measure(answer, std::nullopt);
}

Result<void> Engine::validate(const CheckRequest& request) {
  if (!switch_.is_open()) [[likely]]
    return planner_.plan(request, Purpose::kLook);
  planner_.enforced().size = planner_.shadow().size = 0;  // nothing will be charged
  return sluice::validate(request);
}

[[gnu::noinline]] Result<void> Engine::plan_look(CheckRequest request) {
  request.cost = 0;
  return planner_.plan(request, Purpose::kLook);
}

std::optional<std::int64_t> Engine::ask_now(Store& store, const CheckRequest& request, const Asked& asked,
                                            Answer& answer) {
  const bool is_timed = asked.is_check() && (planner_.counters().meter().picks() ||
                                             (request.trace && request.trace->is_sampled()));
  const std::int64_t began_ns = is_timed ? ns_now() : 0;
  Answered enforced, shadow;
  if (planner_.enforced().size > 0) [[likely]]
    ask_about(kEnforced, store, request, asked, enforced);
  if (planner_.shadow().size > 0) [[unlikely]]
    ask_about(kShadow, store, request, asked, shadow);
  conclude(asked, enforced, shadow, answer, Asking::kHere);
  std::optional<std::int64_t> took_ns;
  if (is_timed) [[unlikely]]
    took_ns = ns_now() - began_ns;
  if (asked.is_check()) [[likely]]
    measure(answer, took_ns);
  if (planner_.comparison().size > 0) [[unlikely]]
    compare_now(store, request, asked, enforced, shadow);
  return took_ns;
}

[[gnu::noinline]] void Engine::compare_now(Store& store, const CheckRequest& request, const Asked& asked,
                                           const Answered& enforced, const Answered& shadow) {
  if (enforced.charges.empty() && shadow.charges.empty()) return;  // nothing to compare with
  Answered candidates;
  ask_about(kComparison, store, request, asked, candidates);
  if (asked.is_check()) count_differences(candidates, enforced, shadow, planner_.counters());
}

void Engine::ask_about(PlanKind kind, Store& store, const CheckRequest& request, const Asked& asked,
                       Answered& answered) {
  Plan& plan = planner_.plan_of(kind);
  assert(plan.size > 0);
  InstantCall& call = calls_[kind];
  call.charges = {plan.charges.data(), plan.size};
  call.results = {plan.results.data(), plan.size};
  call.refund_of_us = asked.refund_of_us;
  call.dedupe.reset();
  if (!request.request_id.empty()) [[unlikely]]
    call.dedupe = identity(request, kind);
  store.start(call);
  answered = answered_by(call, {plan.limits.data(), plan.size});
}

[[gnu::noinline]] PendingCheck* Engine::begin_later(Store& store, const CheckRequest& request,
                                                    Purpose purpose, Answer& answer) {
  PendingCheck& pending = make_pending(request, {planner_.first_policy(), purpose});
  pending.has_unknown_tier = planner_.has_unknown_tier(request);
  if (pending.has_unknown_tier && purpose == Purpose::kCheck) planner_.counters().add_unknown_tier();
  if (purpose == Purpose::kCheck && picks()) {
    pending.stands_for = parts_.hot->weight();
    name_keys({&request, 1}, nullptr, pending.names);
  }
  if (purpose == Purpose::kCheck && !watch_.empty()) keep_texts({&request, 1}, nullptr, pending.texts);
  if (pending.start(store)) return &pending;
  finish(pending, answer);
  tell_late(pending, answer);
  return kAnswered;
}

// Whose turn a check takes.
Flow Engine::flow_of(std::uint32_t tenant_tag) {
  if (!in_order_) return {.caller = caller_, .tenant = tenant_tag};
  if (!first_in_order_) first_in_order_ = tenant_tag;
  return {.caller = caller_, .tenant = *first_in_order_};
}

// A copy of the plan: all that is needed when the answer arrives.
PendingCheck& Engine::make_pending(const CheckRequest& request, const Asked& asked) {
  const std::uint32_t tenant_tag =
      slot_tag_of_tenant(planner_.tenant_of(request, asked.first_policy), parts_.hasher);
  PendingCheck& pending = take_pending();
  const std::int64_t now_us = parts_.clock.now_us();
  PendingCheck::Call::Terms terms{.deadline_us = now_us + store_time_us(),
                                  .caller_deadline_us = caller_deadline_us(request, now_us),
                                  .flow = flow_of(tenant_tag),
                                  .refund_of_us = asked.refund_of_us};
  const auto fill = [&](PendingCheck::Call& call, PlanKind kind) {
    call.fill(planner_.plan_of(kind), identity(request, kind), terms);
    call.in_order = in_order_;
  };
  const Plan& enforced = planner_.enforced();
  terms.without_answer = FailureRule::without_answer({enforced.limits.data(), enforced.size});
  fill(pending.enforced, kEnforced);
  terms.without_answer = StoreCall::WithoutAnswer::kUnknown;
  fill(pending.shadow, kShadow);
  fill(pending.comparison, kComparison);
  pending.snapshot = planner_.snapshot();
  pending.first_policy = asked.first_policy;
  pending.purpose = asked.purpose;
  pending.has_unknown_tier = false;
  pending.stands_for = 0;
  pending.texts.clear();
  pending.began_us = now_us;
  return pending;
}

void Engine::on_answered(PendingCheck& pending) {
  // The receiver of the answer may make more checks, while another caller may be in the middle of its own.
  const std::uint32_t asking = std::exchange(caller_, pending.enforced.flow.caller);
  const Later later = std::exchange(pending.later, {});
  const LaterTogether later_together = std::exchange(pending.later_together, {});
  const auto kept = pending.snapshot;  // until the answer has been read
  Answer answer;
  finish(pending, answer);
  if (later_together) {
    Result<JointDecision> joint;
    conclude_parts(pending.joint, pending.enforced.answered(), pending.shadow.answered(), answer, joint);
    tell_late(pending, joint);
    later_together(joint);
  } else {
    tell_late(pending, answer);
    later(answer);
  }
  caller_ = asking;
}

// The decision may point into `pending`, which stays unchanged until the next check begins.
void Engine::finish(PendingCheck& pending, Answer& answer) {
  const Asked asked{pending.first_policy, pending.purpose, pending.enforced.refund_of_us};
  const Answered enforced = pending.enforced.answered(), shadow = pending.shadow.answered();
  conclude(asked, enforced, shadow, answer, Asking::kElsewhere);
  if (pending.enforced.is_lease) [[unlikely]]
    conclude_lease(asked, pending.enforced, pending.names, answer);
  pending.took_ns = (parts_.clock.now_us() - pending.began_us) * 1000;
  if (asked.is_check()) measure(answer, pending.took_ns);
  if (answer) answer->unknown_tier = pending.has_unknown_tier;
  if (pending.stands_for > 0)
    note_hot(pending.enforced, pending.enforced.limits(), pending.names, pending.stands_for);
  if (asked.is_check() && parts_.hot && parts_.hot->has_promoted())
    advise_lease(pending.enforced.charges, answer);
  if (const Answered candidates = pending.comparison.answered();
      !candidates.limits.empty() && asked.is_check())
    count_differences(candidates, enforced, shadow, planner_.counters());
  pending.snapshot.reset();  // unused calls must not keep old policies alive
  free_.push_back(&pending);
}

void Engine::conclude(const Asked& asked, const Answered& enforced, const Answered& shadow, Answer& answer,
                      Asking where) {
  const Answered& deciding = enforced.charges.empty() ? shadow : enforced;
  if (deciding.conflict) [[unlikely]]
    return void(answer = std::unexpected(request_id_conflict()));
  if (enforced.verdict == Verdict::kShed || (!asked.is_check() && shadow.verdict == Verdict::kShed))
      [[unlikely]]
    return void(answer = std::unexpected(overloaded()));
  const bool failed = !is_answer(enforced.verdict);
  if (!asked.is_check() && (failed || !is_answer(shadow.verdict)))
    return void(answer = std::unexpected(enforced.verdict == Verdict::kNoRoom ? store_full() : no_answer()));
  Decision& decision = *answer;
  if (failed) [[unlikely]]
    enforced.moving ? FailureRule::refuse(enforced, decision)
                    : failure_rule_.decide(enforced, where == Asking::kHere, decision);
  else
    explain(asked.first_policy, enforced, deciding.now_us, decision);
  if (!asked.first_policy) [[unlikely]]
    explain_unmatched(planner_.unmatched(), decision);
  decision.replayed = deciding.replayed;
  if (!shadow.charges.empty() && !shadow.conflict) [[unlikely]] {
    add_shadow(shadow, decision);
    if (shadow.verdict == Verdict::kDenied && asked.is_check() && !shadow.limits.empty())
      planner_.counters().add(*tightest_of(shadow.limits, true)->policy, DecisionCounters::kShadowDenied);
  }
  if (asked.is_check()) count(enforced, decision);
  if (asked.refund_of_us != 0 && !enforced.replayed) [[unlikely]]
    count_given_back(enforced);
  // It is not known which version of which policy decided then; it is not the one in force now.
  if (deciding.replayed && deciding.limits.empty()) [[unlikely]]
    decision.policy = nullptr;
}

void Engine::count(const Answered& enforced, const Decision& decision) {
  if (!decision.policy)
    return decision.reason == Reason::kPoliciesUnknown ? planner_.counters().add_unknown(decision.allowed)
                                                       : planner_.counters().add_no_policy();
  if (enforced.verdict == Verdict::kPartlyCounted && !enforced.limits.empty()) [[unlikely]]
    return count_partly(enforced, decision.replayed);
  DecisionCounters& counters = planner_.counters();
  const bool charged = !decision.degraded && !decision.replayed;
  const bool passed = decision.allowed && !decision.degraded;
  const CompiledPolicy* last = nullptr;
  for (std::size_t i = 0; i < enforced.limits.size(); ++i) {
    const CompiledPolicy* policy = enforced.limits[i].policy;
    if (policy != last) counters.turn_to(*policy);
    if (passed) count_passed(enforced.limits[i], counters);
    if (policy == last) continue;  // the limits of a policy are adjacent
    last = policy;
    if (decision.degraded) counters.add(*policy, DecisionCounters::kFailed);
    if (!decision.allowed) continue;
    counters.add(*policy, DecisionCounters::kAllowed);
    if (charged)
      counters.add(*policy, DecisionCounters::kUnitsConsumed,
                   static_cast<std::uint64_t>(enforced.charges[i].cost));
  }
  if (decision.allowed && !enforced.limits.empty()) [[likely]]
    return;
  counters.turn_to(*decision.policy);
  counters.add(*decision.policy, decision.allowed ? DecisionCounters::kAllowed : DecisionCounters::kDenied);
  if (decision.allowed) return;
  counters.add(*decision.policy, DecisionCounters::kUnitsDenied, static_cast<std::uint64_t>(decision.cost));
  if (decision.tightest && !decision.degraded)
    counters.add_limit(*decision.policy, *decision.tightest->limit, DecisionCounters::kStopped);
}

// A policy has failed if one of its limits was passed over, and has consumed units if one was not.
[[gnu::cold]] void Engine::count_partly(const Answered& enforced, bool replayed) {
  DecisionCounters& counters = planner_.counters();
  for (std::size_t i = 0; i < enforced.limits.size();) {
    const CompiledPolicy* const policy = enforced.limits[i].policy;
    const std::int64_t cost = enforced.charges[i].cost;
    bool failed = false, counted = false;
    for (; i < enforced.limits.size() && enforced.limits[i].policy == policy; ++i)
      (was_passed_over(enforced.limits[i]) ? failed : counted) = true;
    counters.turn_to(*policy);
    if (failed) counters.add(*policy, DecisionCounters::kFailed);
    counters.add(*policy, DecisionCounters::kAllowed);
    if (counted && !replayed)
      counters.add(*policy, DecisionCounters::kUnitsConsumed, static_cast<std::uint64_t>(cost));
  }
}

[[gnu::noinline, gnu::cold]] void Engine::count_refused(const Error& error) {
  planner_.counters().meter().add(CheckMeter::kNoAlgorithm, CheckResult::kError, check_error(error.code),
                                  std::nullopt);
}

// For metrics: how the check ended and, if known, how long it took.
void Engine::measure(const Answer& answer, std::optional<std::int64_t> took_ns) {
  CheckMeter& meter = planner_.counters().meter();
  if (!answer) [[unlikely]]
    return count_refused(answer.error());
  const LimitStatus* const tightest = answer->tightest;
  const std::size_t slot =
      tightest ? CheckMeter::slot_of(tightest->numbers->algorithm) : CheckMeter::kNoAlgorithm;
  meter.add(slot, answer->allowed ? CheckResult::kAllowed : CheckResult::kDenied, check_error(*answer),
            took_ns);
  if (took_ns && tightest && !answer->degraded && !tightest->policy->shadow) [[unlikely]]
    planner_.counters().note_level(*tightest->policy, {.limit = tightest->limit->index,
                                                       .capacity = tightest->numbers->capacity,
                                                       .remaining = tightest->result->outcome.remaining,
                                                       .at_us = answer->now_us});
}

Error Engine::request_id_conflict() {
  return {ErrorCode::kFailedPrecondition,
          "request_id was used for another request; use a new one for each request", "request_id"};
}

std::optional<Dedupe> Engine::identity(const CheckRequest& request) {
  return identity(request, planner_.enforced().size > 0 ? kEnforced : kShadow);
}

std::optional<Dedupe> Engine::identity(const CheckRequest& request, PlanKind kind) {
  const Plan& plan = planner_.plan_of(kind);
  if (request.request_id.empty() || !has_charged({plan.charges.data(), plan.size}, Verdict::kAllowed))
      [[likely]]
    return std::nullopt;
  const PlannedRequest planned{.tenant = planned_tenant(request),
                               .policy = *planner_.first_policy(),
                               .policies = *planner_.snapshot(),
                               .plan = plan,
                               .kind = kKindNames[kind]};
  return identity_of(request, planned, parts_.hasher, scratch_);
}

// How long the store may take. Shadow policies have a say only if nothing else applies.
std::int64_t Engine::store_time_us() {
  const Plan& deciding = planner_.plan_of(planner_.enforced().size > 0 ? kEnforced : kShadow);
  return FailureRule::store_time_us({deciding.limits.data(), deciding.size});
}

// When we have to answer to meet the caller's deadline; 0: none.
std::int64_t Engine::caller_deadline_us(const CheckRequest& request, std::int64_t now_us) {
  if (request.deadline_us == 0) return 0;
  const std::int64_t left_us = std::max<std::int64_t>(request.deadline_us - now_us, 0);
  return now_us + std::max(left_us - kMarginUs, left_us / 2);
}

std::shared_ptr<Engine::PendingReset> Engine::begin_reset(const CheckRequest& request, ResetReach reach) {
  const auto pending = std::make_shared<PendingReset>();
  if (auto planned = planner_.plan(request, Purpose::kAmend); !planned) {
    pending->answer = std::unexpected(std::move(planned.error()));
    return pending;
  }
  const std::string_view tenant = planned_tenant(request);
  Dimensions dimensions(request);
  dimensions.imply_tenant(tenant);
  std::vector<CounterName> counters;
  bool has_foreign = false, has_own = false;
  const auto collect = [&](const Plan& plan, std::vector<CounterName>& into) {
    for (std::size_t i = 0; i < plan.size; ++i) {
      const LimitStatus& status = plan.limits[i];
      if (!request.policy_id.empty() && status.policy->source.id != request.policy_id) continue;
      const bool is_foreign = status.counts_several_tenants();
      has_foreign |= is_foreign;
      if (is_foreign && !reach.all_tenants) continue;
      has_own = true;
      if (!reach.shared && !dimensions.are_alone_in(*status.limit)) continue;
      into.push_back({plan.charges[i].key, plan.charges[i].slot_tag});
    }
  };
  collect(planner_.enforced(), counters);
  collect(planner_.shadow(), counters);
  if (has_foreign && !has_own) {
    pending->answer = std::unexpected(
        Error{ErrorCode::kPermissionDenied,
              "all limits of this request are shared by several tenants; to reset them, use a "
              "token or certificate for all tenants",
              ""});
    return pending;
  }
  std::vector<CounterName> compared;  // these are not reported
  collect(planner_.comparison(), compared);
  if (!compared.empty()) store_for(request).reset(compared, [](int) {});
  store_for(request).reset(counters, [pending](int existed) {
    const Result<int> answer = existed < 0 ? Result<int>(std::unexpected(no_answer())) : existed;
    if (pending->later)
      pending->later(answer);
    else
      pending->answer = answer;
  });
  return pending;
}

PendingCheck& Engine::take_pending() {
  if (free_.empty()) return *pending_.emplace_back(new PendingCheck(*this));
  PendingCheck& pending = *free_.back();
  free_.pop_back();
  return pending;
}

}  // namespace sluice

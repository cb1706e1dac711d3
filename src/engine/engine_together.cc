// Several checks that are decided together, and joint refunds; see joint_plan.h.
#include <algorithm>
#include <cassert>

#include "base/try.h"
#include "engine/engine.h"

namespace sluice {

PendingCheck* Engine::begin_together(std::span<const CheckRequest> requests, Purpose purpose,
                                     Result<JointDecision>& answer) {
  assert(!requests.empty());
  assert(purpose == Purpose::kCheck ||
         std::ranges::all_of(requests, [](const auto& request) { return request.cost == 0; }));
  if (switch_.is_open() && purpose == Purpose::kCheck) [[unlikely]] {
    let_pass_together(requests, answer);
    tell_of_parts(requests, nullptr, answer);
    return kAnswered;
  }
  const auto planned = plan_all(requests, purpose);
  if (!planned) {
    answer = std::unexpected(planned.error());
    if (purpose == Purpose::kCheck) count_refused(planned.error());
    return kAnswered;
  }
  if (planner_.unmatched() != Unmatched::kNoPolicy) [[unlikely]]
    if (refuse_unknown(purpose, answer)) {
      if (purpose == Purpose::kCheck) tell_of_parts(requests, &joint_plan_, answer);
      return kAnswered;
    }
  return ask_planned(**planned, requests, {joint_plan_.first_policy(), purpose}, answer);
}

// Checks that are decided together are denied together, before anything is charged.
[[gnu::cold]] bool Engine::refuse_unknown(Purpose purpose, Result<JointDecision>& answer) {
  const auto is_unmatched = [](const JointPlan::Part& part) { return !part.first_policy; };
  if (planner_.unmatched() != Unmatched::kUnknownClosed ||
      std::ranges::none_of(joint_plan_.parts, is_unmatched))
    return false;
  answer->overall.reason = Reason::kNoPolicy;
  explain_unmatched(planner_.unmatched(), answer->overall);
  answer->parts = joint_explainer_.repeat(answer->overall, joint_plan_.parts.size());
  if (purpose != Purpose::kCheck) return true;
  planner_.counters().add_unknown(false);
  measure(answer->overall, std::nullopt);
  return true;
}

PendingCheck* Engine::begin_give_back(std::span<const CheckRequest> requests, RefundReach reach,
                                      Result<JointDecision>& answer) {
  assert(!requests.empty());
  const auto planned = plan_all(requests, Purpose::kAmend);
  if (!planned) {
    answer = std::unexpected(planned.error());
    return kAnswered;
  }
  if (switch_.is_open()) [[unlikely]] {
    answer->overall.reason = Reason::kSwitch;
    answer->overall.degraded = true;
    answer->parts = joint_explainer_.repeat(answer->overall, requests.size());
    return kAnswered;
  }
  keep_within(reach);
  const Asked asked{joint_plan_.first_policy(), Purpose::kAmend, Grant::kAnyTime};
  return ask_planned(**planned, requests, asked, answer);
}

// Turns a planned refund into a look where the caller may not give back.
void Engine::keep_within(RefundReach reach) {
  if (reach == RefundReach::kEverything) return;
  for (Plan* const plan : {&planner_.enforced(), &planner_.shadow(), &planner_.comparison()}) {
    const CompiledPolicy* counted = nullptr;
    for (std::size_t i = 0; i < plan->size; ++i) {
      const LimitStatus& status = plan->limits[i];
      if (reach == RefundReach::kOwnTenants && !status.counts_several_tenants()) continue;
      plan->charges[i].cost = 0;
      if (plan != &planner_.enforced() || status.policy == counted) continue;
      counted = status.policy;  // the limits of a policy are adjacent
      planner_.counters().add(*counted, DecisionCounters::kRefundsRefused);
    }
  }
}

void Engine::count_given_back(const Answered& enforced) {
  const CompiledPolicy* counted = nullptr;
  for (std::size_t i = 0; i < enforced.limits.size(); ++i) {
    if (enforced.limits[i].policy == counted || enforced.charges[i].cost == 0) continue;
    counted = enforced.limits[i].policy;
    planner_.counters().add(*counted, DecisionCounters::kUnitsGivenBack,
                            static_cast<std::uint64_t>(enforced.charges[i].cost));
  }
}

Result<void> Engine::validate_give_back(std::span<const CheckRequest> requests) {
  SLUICE_TRY(plan_all(requests, Purpose::kAmend));
  return {};
}

// Makes the planned calls.
PendingCheck* Engine::ask_planned(Store& store, std::span<const CheckRequest> requests, const Asked& asked,
                                  Result<JointDecision>& answer) {
  Answer overall;
  if (store.answers_at_once() || planner_.enforced().size + planner_.shadow().size == 0) {
    ask_now(store, requests.front(), asked, overall);
    const auto answered = [&](const StoreCall& call, Plan& plan) {
      return plan.size == 0 ? Answered{} : answered_by(call, {plan.limits.data(), plan.size});
    };
    conclude_parts(joint_plan_, answered(calls_[kEnforced], planner_.enforced()),
                   answered(calls_[kShadow], planner_.shadow()), overall, answer);
    if (asked.is_check() && picks()) note_picked(requests, &joint_plan_);
    if (asked.is_check()) tell_of_parts(requests, &joint_plan_, answer);
    return kAnswered;
  }
  PendingCheck& pending = make_pending(requests.front(), asked);
  if (asked.is_check() && picks()) {
    pending.stands_for = parts_.hot->weight();
    name_keys(requests, &joint_plan_, pending.names);
  }
  if (asked.is_check() && !watch_.empty()) keep_texts(requests, &joint_plan_, pending.texts);
  std::swap(pending.joint, joint_plan_);
  if (pending.start(store)) return &pending;
  finish(pending, overall);
  conclude_parts(pending.joint, pending.enforced.answered(), pending.shadow.answered(), overall, answer);
  tell_late(pending, answer);
  return kAnswered;
}

// Plans all requests and selects their store. The nodes of a Cluster can split a step's counters between them
// (ClusterStore does), two stores cannot.
Result<Store*> Engine::plan_all(std::span<const CheckRequest> requests, Purpose purpose) {
  SLUICE_TRY(plan_together(planner_, requests, purpose, joint_plan_));
  if (!parts_.placement) [[likely]]
    return &parts_.store;
  Store* store = nullptr;
  for (std::size_t i = 0; i < requests.size(); ++i) {
    const CompiledPolicy* const first = joint_plan_.parts[i].first_policy;
    Store& own = parts_.placement->store_for(planner_.tenant_of(requests[i], first),
                                             planner_.tier_of(requests[i], first));
    if (store && store != &own)
      return invalid("",
                     "the counters of these checks live in different stores, so they cannot be decided "
                     "together; send each on its own");
    store = &own;
  }
  return store;
}

void Engine::conclude_parts(const JointPlan& plan, const Answered& enforced, const Answered& shadow,
                            const Answer& overall, Result<JointDecision>& answer) {
  if (!overall) {
    answer = std::unexpected(overall.error());
    return;
  }
  answer->overall = *overall;
  answer->parts = joint_explainer_.explain_parts(plan, enforced, shadow, answer->overall, failure_rule_,
                                                 planner_.unmatched());
}

[[gnu::cold]] void Engine::let_pass_together(std::span<const CheckRequest> requests,
                                             Result<JointDecision>& answer) {
  for (std::size_t i = 0; i < requests.size(); ++i)
    if (auto valid = sluice::validate(requests[i]); !valid)
      return void(answer = std::unexpected(in_request(i, std::move(valid.error()))));
  Answer passed;
  let_pass(requests.front(), passed);
  answer->overall = *passed;
  answer->parts = joint_explainer_.repeat(*passed, requests.size());
}

}  // namespace sluice

// Leases and their return; see lease/lease.h.
#include <cassert>

#include "base/limits/lease_limits.h"
#include "base/try.h"
#include "engine/engine.h"
#include "engine/request/request_identity.h"

namespace sluice {
namespace {

constexpr std::int64_t kClockSlackUs = kMinuteUs;

Error nothing_to_lease() {
  return {ErrorCode::kFailedPrecondition,
          "no limit applies to this request, so there is nothing to lease; checks of it are not limited", ""};
}

Error policies_unknown() {
  return {ErrorCode::kUnavailable, "the policies could not be read yet, so nothing is leased; try again", ""};
}

Error unknown_outcome() {
  return {ErrorCode::kUnavailable,
          "the connection to the store was lost: it is not known whether the units were given back", ""};
}

Error switched() {
  return {ErrorCode::kUnavailable,
          "the big red switch is open: nothing is leased; checks are let through until it is normal again",
          ""};
}

}  // namespace

Result<void> Engine::validate_lease(const CheckRequest& request) {
  const std::int64_t want = request.cost.value_or(0);
  if (want < 1 || want > kLeaseUnitsMax)
    return invalid("want", "must be from 1 to " + std::to_string(kLeaseUnitsMax) + ", the units to lease");
  return sluice::validate(request);
}

// Plans the charges of a lease: those of a check, for enforced limits only. Nothing is counted yet.
Result<Dedupe> Engine::plan_lease(const CheckRequest& request) {
  SLUICE_TRY(planner_.plan(request, Purpose::kLook));
  Plan& plan = planner_.enforced();
  planner_.shadow().size = planner_.comparison().size = 0;
  if (plan.size == 0) {
    const bool is_known = planner_.first_policy() || planner_.unmatched() == Unmatched::kNoPolicy;
    return std::unexpected(is_known ? nothing_to_lease() : policies_unknown());
  }
  for (std::size_t i = 0; i < plan.size; ++i) {
    plan.charges[i].on_denial = OnDenial::kFree;
    plan.charges[i].passes_without_room = false;
  }
  const PlannedRequest planned{.tenant = planned_tenant(request),
                               .policy = *planner_.first_policy(),
                               .policies = *planner_.snapshot(),
                               .plan = plan,
                               .kind = 'l'};
  Dedupe identity = identity_of(request, planned, parts_.hasher, scratch_);
  identity.ttl_us = kLeaseLifeUs;
  return identity;
}

PendingCheck* Engine::begin_lease(const CheckRequest& request, LeaseClaim& claim, Answer& answer) {
  assert(!request.request_id.empty());
  if (auto valid = validate_lease(request); !valid) return fail(std::move(valid.error()), answer);
  if (switch_.is_open()) return fail(switched(), answer);
  auto identity = plan_lease(request);
  if (!identity) return fail(std::move(identity.error()), answer);
  claim.terms = identity->terms;
  return ask_lease(request, {planner_.first_policy(), Purpose::kLease}, *identity, answer);
}

PendingCheck* Engine::begin_return(const LeaseClaim& claim, std::int64_t unused, Answer& answer) {
  if (unused < 0 || unused > claim.granted)
    return fail({ErrorCode::kInvalidArgument,
                 "must be from 0 to " + std::to_string(claim.granted) +
                     ", the units that were granted; nothing was given back",
                 "unused"},
                answer);
  // An old id is not worth asking the store, however often it comes, nor is one of the future. Our clock may
  // differ from the store's.
  const std::int64_t age_us = parts_.clock.now_us() - claim.granted_at_us;
  if (age_us > kLeaseLifeUs + kClockSlackUs || age_us < -kClockSlackUs) return fail(unknown_lease(), answer);
  std::vector<Dimension> dimensions;
  const CheckRequest request = claim.request(dimensions);
  auto identity = plan_lease(request);
  // Where its record would be is not known without the limits.
  if (!identity)
    return fail(
        identity.error().code == ErrorCode::kUnavailable ? std::move(identity.error()) : unknown_lease(),
        answer);
  // Other limits, or other numbers, than the units were taken from: those stay used until their period is
  // over. The lease is over all the same, once.
  Plan& plan = planner_.enforced();
  const bool same_limits = identity->terms == claim.terms;
  identity->terms = claim.terms;
  for (std::size_t i = 0; i < plan.size; ++i) {
    plan.charges[i].cost = same_limits ? unused : 0;
    plan.results[i] = {};
    if (!same_limits || claim.charged.size() != plan.size) continue;
    plan.results[i].outcome = claim.charged[i].outcome;
    plan.results[i].charged_at_us = claim.charged[i].at_us;
  }
  return ask_lease(request, {planner_.first_policy(), Purpose::kAmend, claim.granted_at_us}, *identity,
                   answer);
}

PendingCheck* Engine::ask_lease(const CheckRequest& request, const Asked& asked, const Dedupe& identity,
                                Answer& answer) {
  Store& store = store_for(request);
  Plan& plan = planner_.enforced();
  if (!store.answers_at_once()) {
    PendingCheck& pending = make_pending(request, asked);
    if (parts_.hot) name_keys({&request, 1}, nullptr, pending.names);
    pending.enforced.dedupe = identity;
    pending.enforced.is_lease = true;
    for (std::size_t i = 0; i < plan.size; ++i) pending.enforced.results[i] = plan.results[i];
    if (pending.start(store)) return &pending;
    finish(pending, answer);
    return kAnswered;
  }
  InstantCall call;
  call.charges = {plan.charges.data(), plan.size};
  call.results = {plan.results.data(), plan.size};
  call.refund_of_us = asked.refund_of_us;
  call.dedupe = identity;
  call.is_lease = true;
  store.start(call);
  conclude(asked, answered_by(call, {plan.limits.data(), plan.size}), {}, answer, Asking::kHere);
  if (parts_.hot) name_keys({&request, 1}, nullptr, hot_names_);
  conclude_lease(asked, call, hot_names_, answer);
  return kAnswered;
}

// What a lease's answer says beside that of a check.
void Engine::conclude_lease(const Asked& asked, const StoreCall& call, const HotNames& names,
                            Answer& answer) {
  if (!answer) return;
  if (asked.refund_of_us != 0) {
    if (call.replayed) answer = std::unexpected(call.sent_again ? unknown_outcome() : unknown_lease());
    return;
  }
  answer->cost = answer->allowed ? call.granted : 0;
  if (answer->cost == 0 || call.replayed) return;
  const CompiledPolicy* last = nullptr;
  for (const LimitStatus& status : answer->limits) {
    if (status.policy == last) continue;
    last = status.policy;
    planner_.counters().add(*last, DecisionCounters::kUnitsConsumed,
                            static_cast<std::uint64_t>(call.granted));
  }
  if (parts_.hot) note_hot(call, answer->limits, names, parts_.hot->weight_of_lease(call.granted));
}

PendingCheck* Engine::fail(Error error, Answer& answer) {
  answer = std::unexpected(std::move(error));
  return kAnswered;
}

}  // namespace sluice

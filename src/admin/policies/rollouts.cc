#include <fmt/format.h>

#include <array>

#include "admin/body_reader.h"
#include "admin/once.h"
#include "admin/policies/policy_changes.h"
#include "admin/policies/policy_views.h"
#include "admin/routes.h"
#include "base/limits.h"
#include "base/try.h"
#include "control/rollout/staged_rollout.h"
#include "document/document_builder.h"
#include "document/literals.h"
#include "policy/document/policy_writer.h"

namespace sluice::admin {
namespace {

using control::RolloutRegistry;
using control::RolloutState;
using control::StagedRollout;
using control::Tally;
using ledger::Kind;

DocumentNode decimal_node(double value, int digits) {
  return {.kind = DocumentNode::Kind::kText, .text = fmt::format("{:.{}f}", value, digits)};
}

DocumentNode count_node(std::uint64_t count) { return number_node(static_cast<std::int64_t>(count)); }

DocumentNode tally_view(const Tally& tally) {
  DocumentNode view = map_node();
  put(view, "allowed", count_node(tally.allowed));
  put(view, "denied", count_node(tally.denied));
  put(view, "denial_rate", decimal_node(tally.denial_rate(), 6));
  return view;
}

// The next automatic step, and when it is due.
DocumentNode next_view(const StagedRollout& rollout) {
  DocumentNode view = map_node();
  if (rollout.waits_for_word()) {
    put(view, "step", text_node("wait"));
    return view;
  }
  put(view, "step", text_node(rollout.is_last_stage() ? "finish" : "advance"));
  put(view, "at", text_node(instant_text(rollout.due_us())));
  if (!rollout.is_last_stage()) put(view, "percent", number_node(rollout.stages[rollout.stage + 1].percent));
  return view;
}

void put_measurements(DocumentNode& view, const control::RolloutEvaluator& evaluator) {
  const control::RolloutTallies& tallies = evaluator.tallies();
  DocumentNode samples = map_node();
  put(samples, "live", tally_view(tallies.live));
  put(samples, "candidate", tally_view(tallies.candidate));
  put(view, "samples", std::move(samples));
  put(view, "excess_sigmas", evaluator.excess() ? decimal_node(*evaluator.excess(), 3) : null_node());
  DocumentNode differences = map_node();
  put(differences, "compared", count_node(tallies.compared));
  put(differences, "newly_denied", count_node(tallies.newly_denied));
  put(differences, "newly_allowed", count_node(tallies.newly_allowed));
  put(view, "differences", std::move(differences));
}

// `evaluator`: null if the rollout is not running here, or this is not its newest version.
DocumentNode rollout_view(const StagedRollout& rollout, std::int64_t version,
                          const control::RolloutEvaluator* evaluator) {
  DocumentNode view = map_node();
  put(view, "policy_id", text_node(rollout.candidate.id));
  put(view, "version", number_node(version));
  put(view, "state", text_node(to_string(rollout.state)));
  put_text(view, "note", rollout.note);
  put(view, "base_version", number_node(rollout.candidate.version));
  put(view, "stage", number_node(static_cast<std::int64_t>(rollout.stage) + 1));
  put(view, "percent", number_node(rollout.percent()));
  put(view, "stages", control::stages_document(rollout.stages));
  put(view, "compare", truth_node(rollout.compare));
  put(view, "min_samples", number_node(rollout.min_samples));
  put(view, "sigmas", number_node(rollout.sigmas));
  put(view, "started_at", text_node(instant_text(rollout.started_us)));
  put(view, "since", text_node(instant_text(rollout.since_us)));
  put(view, "next", rollout.is_running() ? next_view(rollout) : null_node());
  if (evaluator) put_measurements(view, *evaluator);
  put(view, "policy", policy_document(rollout.candidate));
  return view;
}

AdminAnswer rollout_answer(AdminContext& context, const StagedRollout& rollout, std::int64_t version) {
  const RolloutRegistry::Known* const now = context.rollouts.registry().find(rollout.candidate.id);
  const bool is_newest = now && now->version == version;
  AdminAnswer answer;
  answer.version = version;
  answer.body = rollout_view(rollout, version,
                             is_newest ? context.rollouts.evaluator_of(rollout.candidate.id) : nullptr);
  return answer;
}

// The newest rollout of the policy in the path. kNotFound also for policies that the caller may not see.
Result<const RolloutRegistry::Known*> find_rollout(AdminContext& context, const AdminCall& call) {
  const RolloutRegistry::Known* const known = context.rollouts.registry().find(call.path[2]);
  if (known && call.principal.sees_tenant(known->rollout.candidate.tenant)) return known;
  return std::unexpected(
      Error{ErrorCode::kNotFound, "policy \"" + call.path[2] + "\" has no rollout; start one with POST", ""});
}

Result<AdminAnswer> write_step(AdminContext& context, const AdminCall& call, const StagedRollout& next,
                               std::int64_t version, std::string_view action) {
  const auto written = context.write(call, control::rollout_drafts(next, version, action));
  if (!written) return std::unexpected(of_one_policy(written.error()));
  return rollout_answer(context, next, written->front().version);
}

// Makes a step of the rollout once for each idempotency key. `is_done(rollout, action)`: that version of the
// rollout is the result of this step.
template <class IsDone, class Step>
Result<AdminAnswer> step_once(AdminContext& context, const AdminCall& call, const IsDone& is_done,
                              const Step& step) {
  const auto again = [&](const ledger::Record& record) -> std::optional<AdminAnswer> {
    const auto rollout = control::parse_rollout(record.body, record.name);
    if (!rollout || !is_done(*rollout, record.action)) return std::nullopt;
    return rollout_answer(context, *rollout, record.version);
  };
  return once(context, call, {Kind::kRollout, call.path[2]}, again, step);
}

Result<StagedRollout> read_plan(const AdminCall& call) {
  constexpr std::array<std::string_view, 5> kNames = {"policy", "stages", "compare", "min_samples", "sigmas"};
  const BodyReader body(call, kNames);
  StagedRollout rollout;
  control::read_rollout_plan(body.fields(), body.place(), rollout);
  if (auto wrong = body.error()) return std::unexpected(*wrong);
  if (rollout.candidate.id != call.path[2])
    return invalid("policy.id", "the document's id is \"" + rollout.candidate.id +
                                    "\", but the path says \"" + call.path[2] + '"');
  return rollout;
}

bool is_same_plan(const StagedRollout& a, const StagedRollout& b) {
  Policy candidate = a.candidate;
  candidate.version = b.candidate.version;
  return candidate == b.candidate && a.stages == b.stages && a.compare == b.compare &&
         a.min_samples == b.min_samples && a.sigmas == b.sigmas;
}

Error in_candidate(Error error) {
  error = of_one_policy(std::move(error));
  if (error.code == ErrorCode::kInvalidArgument && !error.field.empty() && !error.field.starts_with("policy"))
    error.field.insert(0, "policy.");
  return error;
}

// The policy to replace, at the version that the caller has seen.
Result<PolicyPointer> policy_to_replace(AdminContext& context, const AdminCall& call) {
  const auto expected = SLUICE_TRY(call.expected_version());
  PolicyPointer policy = SLUICE_TRY(find_policy(context, call, call.path[2]));
  const Policy& source = policy->source;
  SLUICE_TRY(call.principal.may(control::Role::kWrite, source.tenant));
  if (expected && *expected != source.version)
    return std::unexpected(Error{ErrorCode::kStale,
                                 "policy \"" + source.id + "\" is at version " +
                                     std::to_string(source.version) + ", not " + std::to_string(*expected) +
                                     "; read it and try again",
                                 "if-match"});
  if (policy->candidate) return std::unexpected(Error{ErrorCode::kConflict, on_its_way_text(source.id), ""});
  return policy;
}

// The running rollout, if the caller has one of these roles and has seen its newest version.
Result<const RolloutRegistry::Known*> rollout_under_way(AdminContext& context, const AdminCall& call,
                                                        bool operators_may) {
  const auto expected = SLUICE_TRY(call.expected_version());
  const RolloutRegistry::Known* const known = SLUICE_TRY(find_rollout(context, call));
  const std::string& tenant = known->rollout.candidate.tenant;
  if (!operators_may || !call.principal.may(control::Role::kOperator, tenant))
    SLUICE_TRY(call.principal.may(control::Role::kWrite, tenant));
  if (expected && *expected != known->version)
    return std::unexpected(Error{ErrorCode::kStale,
                                 "the rollout is at version " + std::to_string(known->version) + ", not " +
                                     std::to_string(*expected) + "; read it and try again",
                                 "if-match"});
  if (!known->rollout.is_running())
    return std::unexpected(Error{ErrorCode::kConflict,
                                 "the rollout of policy \"" + call.path[2] + "\" has ended: it is " +
                                     std::string(to_string(known->rollout.state)),
                                 ""});
  return known;
}

// Starts the rollout that the caller has planned.
Result<AdminAnswer> start(AdminContext& context, const AdminCall& call, StagedRollout rollout) {
  const auto policy = SLUICE_TRY(policy_to_replace(context, call));
  if (auto fine = refuse_denying_everyone(call, rollout.candidate); !fine)
    return std::unexpected(in_candidate(fine.error()));
  rollout.candidate.version = policy->source.version;
  if (rollout.candidate == policy->source)
    return invalid("policy", "is the same as " + policy->version_text() + "; there is nothing to roll out");
  rollout.started_us = rollout.since_us = context.clock.now_us();
  // Valid as a candidate, and as the policy that it will become.
  if (auto good = context.catalog.try_candidate(rollout.as_candidate()); !good)
    return std::unexpected(in_candidate(good.error()));
  PolicyChange change;
  change.put.push_back(rollout.candidate);
  if (auto good = context.catalog.try_change(std::move(change)); !good)
    return std::unexpected(in_candidate(good.error()));
  const RolloutRegistry::Known* const before = context.rollouts.registry().find(call.path[2]);
  return write_step(context, call, rollout, before ? before->version : 0, "start");
}

}  // namespace

Result<AdminAnswer> list_rollouts(AdminContext& context, const AdminCall& call) {
  const auto limit = SLUICE_TRY(call.number("limit", 1, kPageMax, kPageDefault));
  const std::string_view state = call.parameter("state");
  const auto& all = context.rollouts.registry().all();
  DocumentNode list = list_node();
  std::string next;
  for (auto each = all.upper_bound(call.parameter("after")); each != all.end(); ++each) {
    const auto& [id, known] = *each;
    if (!call.principal.sees_tenant(known.rollout.candidate.tenant)) continue;
    if (!state.empty() && to_string(known.rollout.state) != state) continue;
    if (list.items.size() == static_cast<std::size_t>(limit)) {
      next = list.items.back().find("policy_id")->text;
      break;
    }
    list.items.push_back(rollout_answer(context, known.rollout, known.version).body);
  }
  AdminAnswer answer;
  answer.body = map_node();
  put(answer.body, "rollouts", std::move(list));
  put(answer.body, "next", next.empty() ? null_node() : text_node(next));
  return answer;
}

Result<AdminAnswer> get_rollout(AdminContext& context, const AdminCall& call) {
  const auto known = SLUICE_TRY(find_rollout(context, call));
  return rollout_answer(context, known->rollout, known->version);
}

Result<AdminAnswer> start_rollout(AdminContext& context, const AdminCall& call) {
  const StagedRollout rollout = SLUICE_TRY(read_plan(call));
  auto answer = SLUICE_TRY(step_once(
      context, call,
      [&](const StagedRollout& then, std::string_view action) {
        return action == "start" && is_same_plan(rollout, then);
      },
      [&] { return start(context, call, rollout); }));
  answer.status = 201;
  answer.location = "/v1/policies/" + call.path[2] + "/rollout";
  return answer;
}

Result<AdminAnswer> advance_rollout(AdminContext& context, const AdminCall& call) {
  return step_once(
      context, call,
      [](const StagedRollout&, std::string_view action) { return action == "advance" || action == "finish"; },
      [&]() -> Result<AdminAnswer> {
        const auto known = SLUICE_TRY(rollout_under_way(context, call, false));
        const StagedRollout next = known->rollout.advanced(context.clock.now_us());
        return write_step(context, call, next, known->version, next.is_running() ? "advance" : "finish");
      });
}

Result<AdminAnswer> abort_rollout(AdminContext& context, const AdminCall& call) {
  return step_once(
      context, call, [](const StagedRollout&, std::string_view action) { return action == "abort"; },
      [&]() -> Result<AdminAnswer> {
        const auto known = SLUICE_TRY(rollout_under_way(context, call, true));
        const std::string why = call.reason.empty() ? "stopped by " + call.principal.name : call.reason;
        const StagedRollout next = known->rollout.ended(RolloutState::kAborted, why, context.clock.now_us());
        return write_step(context, call, next, known->version, "abort");
      });
}

}  // namespace sluice::admin

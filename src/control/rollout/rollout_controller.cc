#include "control/rollout/rollout_controller.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "telemetry/prometheus.h"

namespace sluice::control {
namespace {

constexpr std::int64_t kTryAgainUs = 5'000'000;
constexpr std::string_view kActor = "sluice";

RolloutTallies tallies_of(const DecisionTotals::PolicySum& sum) {
  using Field = DecisionCounters::Field;
  const auto by_candidate = [&](Field field) { return sum.candidate[field]; };
  const auto by_policy = [&](Field field) { return sum.fields[field] - sum.candidate[field]; };
  return {{by_policy(Field::kAllowed), by_policy(Field::kDenied)},
          {by_candidate(Field::kAllowed), by_candidate(Field::kDenied)},
          by_candidate(Field::kCompared),
          by_candidate(Field::kNewlyDenied),
          by_candidate(Field::kNewlyAllowed)};
}

std::string why_rolled_back(const RolloutEvaluator& evaluator) {
  const Tally& before = evaluator.reference();
  const Tally& after = evaluator.tallies().candidate;
  return fmt::format(
      "the candidate denied {} of {} checks ({:.2f} %), the version in force {} of {} ({:.2f} %): {:.1f} "
      "sigmas",
      after.denied, after.total(), 100 * after.denial_rate(), before.denied, before.total(),
      100 * before.denial_rate(), evaluator.excess().value_or(0));
}

}  // namespace

const CompiledPolicy* RolloutController::policy_of(const RolloutRegistry::Known& known,
                                                   const Snapshot& snapshot) const {
  const CompiledPolicy* const policy = snapshot.find(known.rollout.candidate.id);
  return known.rollout.is_running() && policy && policy->candidate ? policy : nullptr;
}

RolloutEvaluator::Step RolloutController::look(const RolloutRegistry::Known& known,
                                               const CompiledPolicy& policy) {
  return evaluators_[policy.source.id].look(known.rollout, known.version,
                                            tallies_of(parts_.totals.sum_of(policy)), parts_.clock.now_us());
}

const RolloutEvaluator* RolloutController::evaluator_of(const std::string& policy_id) {
  const RolloutRegistry::Known* const known = parts_.rollouts.find(policy_id);
  const auto snapshot = parts_.catalog.current();
  const CompiledPolicy* const policy = known ? policy_of(*known, *snapshot) : nullptr;
  if (!policy) return nullptr;
  look(*known, *policy);
  return &evaluators_[policy_id];
}

void RolloutController::look_after(LedgerFollower& follower) {
  std::vector<std::string> running;  // a copy, because a step changes the registry
  for (const auto& [id, known] : parts_.rollouts.all())
    if (known.rollout.is_running())
      running.push_back(id);
    else
      evaluators_.erase(id);
  std::erase_if(blocks_,
                [&](const auto& block) { return std::ranges::find(running, block.first) == running.end(); });
  for (const std::string& id : running) {
    const RolloutRegistry::Known* const known = parts_.rollouts.find(id);
    if (known && !step(follower, *known)) break;
  }
  show();
}

// False: the database is unreachable.
bool RolloutController::step(LedgerFollower& follower, const RolloutRegistry::Known& known) {
  const StagedRollout& rollout = known.rollout;
  const std::int64_t now_us = parts_.clock.now_us();
  const auto snapshot = parts_.catalog.current();
  const CompiledPolicy* const policy = policy_of(known, *snapshot);
  if (!policy) return step_without_policy(follower, known);
  const auto block = blocks_.find(policy->source.id);
  if (block != blocks_.end() && now_us < block->second.next_try_us) return true;
  switch (look(known, *policy)) {
    case RolloutEvaluator::Step::kWait:
      blocks_.erase(policy->source.id);
      return true;
    case RolloutEvaluator::Step::kAdvance:
      return write(follower, known, rollout.advanced(now_us), rollout.is_last_stage() ? "finish" : "advance");
    case RolloutEvaluator::Step::kRollBack:
      break;
  }
  const std::string why = why_rolled_back(evaluators_[policy->source.id]);
  return write(follower, known, rollout.ended(RolloutState::kRolledBack, why, now_us), "roll back");
}

// Either the policy has changed, which holds for all nodes, or the candidate is not in force on this node
// alone.
bool RolloutController::step_without_policy(LedgerFollower& follower, const RolloutRegistry::Known& known) {
  const StagedRollout& rollout = known.rollout;
  const std::string& id = rollout.candidate.id;
  // A policy file in front of the policy took the candidate out of force, and is gone now.
  if (parts_.catalog.put_candidate(rollout.as_candidate())) return blocks_.erase(id), true;
  const auto block = blocks_.find(id);
  if (!follower.is_loaded() || (block != blocks_.end() && block->second.revision == follower.revision()))
    return true;
  const auto newest = follower.ledger().history(ledger::Kind::kPolicy, id, INT64_MAX, 1);
  if (!newest) return false;
  const bool is_the_same = !newest->empty() && !newest->front().is_withdrawn() &&
                           newest->front().version == rollout.candidate.version;
  if (!is_the_same)
    return write(
        follower, known,
        rollout.ended(RolloutState::kAborted, "the policy has changed since it began", parts_.clock.now_us()),
        "abort");
  blocks_[id] = {.revision = follower.revision()};
  return true;
}

bool RolloutController::write(LedgerFollower& follower, const RolloutRegistry::Known& known,
                              const StagedRollout& next, std::string_view action) {
  const std::int64_t now_us = parts_.clock.now_us();
  if (now_us < next_try_us_ || !follower.is_loaded()) return false;
  const std::string id = next.candidate.id;
  const std::string what =
      fmt::format("rollout of policy \"{}\": {}{}{}", id, action, next.note.empty() ? "" : "; ", next.note);
  const auto written = follower.write({.drafts = rollout_drafts(next, known.version, action),
                                       .actor = std::string(kActor),
                                       .reason = next.note,
                                       .at_us = now_us});
  if (written) {
    blocks_.erase(id);
    parts_.log(LogEvent::kRolloutStep, what, {{"policy", id}});
    if (next.state == RolloutState::kRolledBack) {
      const Lock lock(mutex_);
      ++rollbacks_[id];
    }
    return true;
  }
  if (written.error().code == ErrorCode::kStale) return true;  // another node, or an operator, was faster
  if (!blocks_.contains(id))
    parts_.log(LogEvent::kRolloutStuck, fmt::format("{}: not done: {}", what, written.error().message),
               {{"policy", id}});
  if (written.error().code == ErrorCode::kUnavailable || next.state == RolloutState::kAborted) {
    next_try_us_ = now_us + kTryAgainUs;
    return false;
  }
  blocks_[id] = {
      .sentence = fmt::format("this node cannot advance the {}: {}", what, written.error().message),
      .next_try_us = now_us + kTryAgainUs};
  return true;
}

void RolloutController::show() {
  std::vector<Shown> shown;
  for (const auto& [id, known] : parts_.rollouts.all())
    if (known.rollout.is_running()) shown.push_back({id, known.rollout.stage + 1, known.rollout.percent()});
  const Lock lock(mutex_);
  shown_ = std::move(shown);
  shown_blocks_ = blocks_;
}

std::vector<std::string> RolloutController::problems() const {
  std::vector<std::string> sentences;
  const Lock lock(mutex_);
  for (const auto& [id, block] : shown_blocks_)
    if (!block.sentence.empty()) sentences.push_back(block.sentence);
  return sentences;
}

std::string RolloutController::metrics() const {
  const Lock lock(mutex_);
  PrometheusText text;
  text.family("rate_limiter_rollout_stage", "gauge", "The current stage of a running rollout, from 1.");
  for (const Shown& each : shown_) text.sample({{"policy", each.policy_id}}, each.stage);
  text.family("rate_limiter_rollout_percent", "gauge", "The share of keys that the candidate decides for.");
  for (const Shown& each : shown_)
    text.sample({{"policy", each.policy_id}}, static_cast<std::uint64_t>(each.percent));
  text.family("rate_limiter_rollout_blocked", "gauge",
              "Running rollouts that this node does not take part in, or cannot advance; /readyz says why.");
  for (const auto& [id, block] : shown_blocks_) text.sample({{"policy", id}}, 1);
  text.family("rate_limiter_rollout_rollbacks_total", "counter",
              "Rollouts that this node rolled back because the candidate denied too much.");
  for (const auto& [id, n] : rollbacks_) text.sample({{"policy", id}}, n);
  return std::move(text).take();
}

}  // namespace sluice::control

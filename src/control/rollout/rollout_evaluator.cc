#include "control/rollout/rollout_evaluator.h"

#include <cmath>

namespace sluice::control {
namespace {

Tally operator-(const Tally& now, const Tally& before) {
  return {now.allowed - before.allowed, now.denied - before.denied};
}

}  // namespace

RolloutTallies operator-(const RolloutTallies& now, const RolloutTallies& before) {
  return {now.live - before.live, now.candidate - before.candidate, now.compared - before.compared,
          now.newly_denied - before.newly_denied, now.newly_allowed - before.newly_allowed};
}

double excess_in_sigmas(const Tally& live, const Tally& candidate) {
  if (live.total() == 0 || candidate.total() == 0) return 0;
  const auto live_total = static_cast<double>(live.total());
  const auto candidate_total = static_cast<double>(candidate.total());
  const double pooled = static_cast<double>(live.denied + candidate.denied) / (live_total + candidate_total);
  const double variance = pooled * (1 - pooled) * (1 / live_total + 1 / candidate_total);
  if (variance <= 0) return 0;
  return (candidate.denial_rate() - live.denial_rate()) / std::sqrt(variance);
}

void RolloutEvaluator::begin_stage(std::int64_t version, std::size_t stage, const RolloutTallies& totals,
                                   std::uint64_t enough) {
  if (stage <= stage_)
    earlier_ = {};  // another rollout of the same policy
  else if (tallies_.live.total() >= enough)
    earlier_ = tallies_.live;
  version_ = version;
  stage_ = stage;
  baseline_ = totals;
}

RolloutEvaluator::Step RolloutEvaluator::look(const StagedRollout& rollout, std::int64_t version,
                                              const RolloutTallies& totals, std::int64_t now_us) {
  const auto enough = static_cast<std::uint64_t>(rollout.min_samples);
  if (version != version_) begin_stage(version, rollout.stage, totals, enough);
  tallies_ = totals - baseline_;
  reference_ = tallies_.live.total() >= enough ? tallies_.live : earlier_;
  excess_.reset();
  if (reference_.total() >= enough && tallies_.candidate.total() >= enough)
    excess_ = excess_in_sigmas(reference_, tallies_.candidate);
  if (!rollout.is_running()) return Step::kWait;
  if (excess_ && *excess_ > static_cast<double>(rollout.sigmas)) return Step::kRollBack;
  return now_us >= rollout.due_us() && !rollout.waits_for_word() ? Step::kAdvance : Step::kWait;
}

}  // namespace sluice::control

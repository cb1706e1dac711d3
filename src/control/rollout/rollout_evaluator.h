#pragma once

#include <cstdint>
#include <optional>

#include "control/rollout/staged_rollout.h"

namespace sluice::control {

// The decisions of one version.
struct Tally {
  std::uint64_t allowed = 0;
  std::uint64_t denied = 0;

  std::uint64_t total() const { return allowed + denied; }
  double denial_rate() const {
    return total() == 0 ? 0 : static_cast<double>(denied) / static_cast<double>(total());
  }
  friend bool operator==(const Tally&, const Tally&) = default;
};

// The decisions of both versions, and where they differed on the same requests.
struct RolloutTallies {
  Tally live;
  Tally candidate;
  std::uint64_t compared = 0;
  std::uint64_t newly_denied = 0;
  std::uint64_t newly_allowed = 0;
  friend bool operator==(const RolloutTallies&, const RolloutTallies&) = default;
};
RolloutTallies operator-(const RolloutTallies& now, const RolloutTallies& before);

// By how many standard deviations the second denial rate exceeds the first, assuming that both have the same
// underlying rate: the pooled test for two proportions. 0 if nothing can be said, for instance if all
// requests were denied.
double excess_in_sigmas(const Tally& live, const Tally& candidate);

// Decides the next step of one rollout: a state machine without clock or ledger. Belongs to one thread.
//
//   switch (evaluator.look(rollout, version, totals, now_us)) { case Step::kRollBack: … }
//
// The tallies of a stage begin when this node first sees the stage. So a node that has just started begins at
// zero and rolls nothing back before it has samples of its own. In the last stage the candidate decides for
// all keys; there it is compared with the live version in the latest stage that had enough samples.
class RolloutEvaluator {
 public:
  enum class Step : std::uint8_t { kWait, kAdvance, kRollBack };

  // `version` is that of the rollout's document. `totals` may count from any moment on.
  Step look(const StagedRollout& rollout, std::int64_t version, const RolloutTallies& totals,
            std::int64_t now_us);

  // Since the stage began, as of the latest look().
  const RolloutTallies& tallies() const { return tallies_; }
  // The tally that the candidate is compared with.
  const Tally& reference() const { return reference_; }
  // None: not enough samples yet.
  std::optional<double> excess() const { return excess_; }

 private:
  void begin_stage(std::int64_t version, std::size_t stage, const RolloutTallies& totals,
                   std::uint64_t enough);

  std::int64_t version_ = 0;
  std::size_t stage_ = 0;
  RolloutTallies baseline_;
  RolloutTallies tallies_;
  Tally earlier_;  // of the live version, in the latest stage with enough samples
  Tally reference_;
  std::optional<double> excess_;
};

}  // namespace sluice::control

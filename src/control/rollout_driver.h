#pragma once

#include <cstdint>
#include <optional>

#include "control/staged_rollout.h"

namespace sluice::control {

// What one version has decided.
struct Tally {
  std::uint64_t allowed = 0;
  std::uint64_t denied = 0;

  std::uint64_t total() const { return allowed + denied; }
  double denial_rate() const {
    return total() == 0 ? 0 : static_cast<double>(denied) / static_cast<double>(total());
  }
  friend bool operator==(const Tally&, const Tally&) = default;
};

// What both versions have decided, and where they differed when asked about the same.
struct RolloutTallies {
  Tally live;
  Tally candidate;
  std::uint64_t compared = 0;
  std::uint64_t newly_denied = 0;
  std::uint64_t newly_allowed = 0;
  friend bool operator==(const RolloutTallies&, const RolloutTallies&) = default;
};
RolloutTallies operator-(const RolloutTallies& now, const RolloutTallies& before);

// By how many standard deviations the second denial rate exceeds the first, if both come from one and the
// same chance: the test for two proportions, pooled. 0 where nothing can be said, as when all were denied.
double excess_in_sigmas(const Tally& live, const Tally& candidate);

// Says what becomes of one rollout: a machine without clock and ledger. Belongs to one thread.
//
//   switch (driver.look(rollout, version, totals, now_us)) { case Step::kRollBack: … }
//
// The tallies of a stage begin when the stage is first seen here, so a node that has just started begins anew
// and takes nothing back before it has samples of its own. In the last stage, where the candidate decides for
// everybody, it is measured against the latest stage in which the other version decided often enough.
class RolloutDriver {
 public:
  enum class Step : std::uint8_t { kWait, kAdvance, kRollBack };

  // `version` is that of the rollout's document, `totals` count from any moment on.
  Step look(const StagedRollout& rollout, std::int64_t version, const RolloutTallies& totals,
            std::int64_t now_us);

  // Since the stage began, as of the latest look().
  const RolloutTallies& tallies() const { return tallies_; }
  // What the candidate is measured against.
  const Tally& reference() const { return reference_; }
  // None: there are not enough samples yet.
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

#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/log/log_event.h"
#include "base/mutex.h"
#include "control/rollout/rollout_evaluator.h"
#include "control/rollout/rollout_registry.h"
#include "telemetry/decision_counters.h"

namespace sluice::control {

// Runs all rollouts: evaluates what this node has decided, and writes the next step when it is due. All nodes
// do this; if several write the same step, one wins and the others see that it is done. Without the database,
// no rollout moves forward or back. Belongs to the control plane's thread, except for metrics() and
// problems().
//
// An obstacle on this node alone, such as a policy file with the same id, is reported but does not end the
// rollout on the other nodes: only the database says that a policy has changed.
class RolloutController {
 public:
  struct Parts {
    const RolloutRegistry& rollouts;
    PolicyCatalog& catalog;
    DecisionTotals& totals;
    const Clock& clock;  // wall time
    EventLog log;
  };
  explicit RolloutController(Parts parts) : parts_(std::move(parts)) {}  // parts outlive it

  // Call it every second.
  void look_after(LedgerFollower& follower);

  // The current state of the rollout; null: it is not running.
  const RolloutEvaluator* evaluator_of(const std::string& policy_id);
  const RolloutRegistry& registry() const { return parts_.rollouts; }

  // In Prometheus' text format, as of the latest look_after(). Thread-safe.
  std::string metrics() const;
  // Sentences about steps that this node cannot write. Thread-safe.
  std::vector<std::string> problems() const;

 private:
  struct Shown {
    std::string policy_id;
    std::size_t stage;
    int percent;
  };
  // Null: the candidate is not in force.
  const CompiledPolicy* policy_of(const RolloutRegistry::Known& known, const Snapshot& snapshot) const;
  RolloutEvaluator::Step look(const RolloutRegistry::Known& known, const CompiledPolicy& policy);
  bool step(LedgerFollower& follower, const RolloutRegistry::Known& known);
  bool step_without_policy(LedgerFollower& follower, const RolloutRegistry::Known& known);
  bool write(LedgerFollower& follower, const RolloutRegistry::Known& known, const StagedRollout& next,
             std::string_view action);
  void show();

  const Parts parts_;
  // A rollout that this node does not take part in, or cannot advance.
  struct Block {
    std::string sentence;          // empty: the follower's problems already have one
    std::int64_t revision = 0;     // of the ledger, when this was determined
    std::int64_t next_try_us = 0;  // to advance it
  };
  std::map<std::string, RolloutEvaluator> evaluators_;  // by policy id
  std::map<std::string, Block> blocks_;                 // by policy id
  std::int64_t next_try_us_ = 0;                        // while the database is unreachable

  mutable Mutex mutex_;
  std::vector<Shown> shown_ SLUICE_GUARDED_BY(mutex_);
  std::map<std::string, Block> shown_blocks_ SLUICE_GUARDED_BY(mutex_);
  std::map<std::string, std::uint64_t> rollbacks_ SLUICE_GUARDED_BY(mutex_);  // by policy id; by this node
};

}  // namespace sluice::control

#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "base/clock.h"
#include "control/rollout_driver.h"
#include "control/rollout_keeper.h"
#include "telemetry/decision_counters.h"

namespace sluice::control {

// Flies every rollout: looks at what this node has decided, and writes the next step when it is due. All
// nodes do; of those that write the same step one wins, and the others see that it is done. Without the
// database nothing moves, in either direction. Belongs to the control plane's thread, but for metrics() and
// problems().
//
// What stands in the way on this node alone, as a policy file with the same id, is told and is no reason to
// end what the other nodes do: only the database says that a policy has changed.
class RolloutPilot {
 public:
  struct Parts {
    const RolloutKeeper& keeper;
    const PolicyCatalog& catalog;
    DecisionTotals& totals;
    const Clock& clock;  // wall time
    std::function<void(bool is_problem, const std::string& sentence)> log;
  };
  explicit RolloutPilot(Parts parts) : parts_(std::move(parts)) {}  // which outlive it

  // To be called every second.
  void look_after(Registry& registry);

  // How the rollout does, as of now; null: it is not under way.
  const RolloutDriver* driver_of(const std::string& policy_id);
  const RolloutKeeper& keeper() const { return parts_.keeper; }

  // In Prometheus' text format, as of the latest look_after(). Thread-safe.
  std::string metrics() const;
  // Sentences about steps that this node cannot take. Thread-safe.
  std::vector<std::string> problems() const;

 private:
  struct Shown {
    std::string policy_id;
    std::size_t stage;
    int percent;
  };
  // Null: the candidate is not in force.
  const CompiledPolicy* policy_of(const RolloutKeeper::Known& known, const Snapshot& snapshot) const;
  RolloutDriver::Step look(const RolloutKeeper::Known& known, const CompiledPolicy& policy);
  bool step(Registry& registry, const RolloutKeeper::Known& known);
  bool step_without_policy(Registry& registry, const RolloutKeeper::Known& known);
  bool write(Registry& registry, const RolloutKeeper::Known& known, const StagedRollout& next,
             std::string_view action);
  void show();

  const Parts parts_;
  // A rollout that this node has no part in, or cannot bring on.
  struct Block {
    std::string sentence;          // empty: the registry's problems have one
    std::int64_t revision = 0;     // of the ledger, when that was looked at
    std::int64_t next_try_us = 0;  // to bring it on
  };
  std::map<std::string, RolloutDriver> drivers_;  // by policy id
  std::map<std::string, Block> blocks_;           // the same
  std::int64_t next_try_us_ = 0;                  // of a database that is gone

  mutable std::mutex mutex_;
  std::vector<Shown> shown_;                        // guarded by mutex_
  std::map<std::string, Block> shown_blocks_;       // guarded by mutex_
  std::map<std::string, std::uint64_t> rollbacks_;  // by policy id, written by this node; guarded by mutex_
};

}  // namespace sluice::control

#pragma once

#include <expected>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/secret/hash.h"
#include "engine/engine.h"
#include "policy/snapshot/snapshot_publisher.h"
#include "store/memory/memory_counters.h"
#include "store/memory/memory_store.h"
#include "store/params_table.h"
#include "telemetry/decision_counters.h"

namespace sluice::plan {

// Policies in force, on a clock that the caller moves: the engine of a server with the memory store, but
// without endpoints. Not thread-safe.
//
//   auto policies = PolicySet::load({"policies.yaml"}, clock);
//   clock.set(entry.at_us);
//   const auto decision = (*policies)->check(entry.request);
class PolicySet {
 public:
  // Reads files and directories, like `sluice serve --policies`. The error names file, line and field.
  static std::expected<std::vector<Policy>, std::string> read(const std::vector<std::string>& paths);
  // What read() returns, ready to be checked. `clock` must outlive this object.
  static std::expected<std::unique_ptr<PolicySet>, std::string> load(const std::vector<std::string>& paths,
                                                                     const Clock& clock);
  // The same from policies that were already read. `memory` is for their counters.
  static std::expected<std::unique_ptr<PolicySet>, std::string> of(std::vector<Policy> policies,
                                                                   const Clock& clock,
                                                                   const MemoryCountersOptions& memory = {});

  // Like Engine::check(); the decision is valid until the next call.
  Result<Decision> check(const CheckRequest& request);

  const Snapshot& snapshot() const { return *snapshot_; }
  const KeyHasher& hasher() const { return hasher_; }
  // Counters of the engine itself: shadow policies, limits skipped because a dimension was missing.
  DecisionTotals::Sum counted() { return totals_.sum(); }

  // Every dimension in the key of some limit, and `tier` if some policy has tiers. Sorted, distinct.
  std::vector<std::string> used_dimensions() const;

 private:
  PolicySet(const Clock& clock, const MemoryCountersOptions& memory);

  ParamsTable params_;
  KeyHasher hasher_ = KeyHasher::from_text("sluice plan");  // fixed: same log, same report
  SnapshotPublisher snapshots_;
  std::shared_ptr<const Snapshot> snapshot_;
  DecisionTotals totals_;
  MemoryCounters counters_;
  MemoryStore store_;
  std::unique_ptr<Engine> engine_;
  std::uint32_t until_tended_ = 0;
};

}  // namespace sluice::plan

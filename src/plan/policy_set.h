#pragma once

#include <expected>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/hash.h"
#include "engine/limiter.h"
#include "policy/repository.h"
#include "store/local_store.h"
#include "store/memory_store.h"
#include "store/params_table.h"
#include "telemetry/decision_counters.h"

namespace sluice::plan {

// Policies in force on a clock that somebody else moves: the engine of a server with the memory store, and
// without doors. Not thread-safe.
//
//   auto policies = PolicySet::load({"policies.yaml"}, clock);
//   clock.set(entry.at_us);
//   const auto decision = (*policies)->check(entry.request);
class PolicySet {
 public:
  // Files and directories, as `sluice serve --policies` takes them. The error names file, line and field.
  // `clock` must outlive this.
  static std::expected<std::unique_ptr<PolicySet>, std::string> load(const std::vector<std::string>& paths,
                                                                     const Clock& clock);
  // The same from policies that were read already. `memory` is for their counters.
  static std::expected<std::unique_ptr<PolicySet>, std::string> of(std::vector<Policy> policies,
                                                                   const Clock& clock,
                                                                   const MemoryStoreOptions& memory = {});

  // As Limiter::check(); the decision is good until the next call.
  Result<Decision> check(const CheckRequest& request);

  const Snapshot& snapshot() const { return *snapshot_; }
  const KeyHasher& hasher() const { return hasher_; }
  // What the engine itself has counted: shadow policies, limits that were skipped for lack of a dimension.
  DecisionTotals::Sum counted() { return totals_.sum(); }

  // Every dimension that some limit's key is made of, and `tier` if some policy has tiers. Sorted, distinct.
  std::vector<std::string> used_dimensions() const;

 private:
  PolicySet(const Clock& clock, const MemoryStoreOptions& memory);

  ParamsTable params_;
  KeyHasher hasher_ = KeyHasher::from_text("sluice plan");  // the same report for the same log
  PolicyBoard board_;
  std::shared_ptr<const Snapshot> snapshot_;
  DecisionTotals totals_;
  MemoryStore counters_;
  LocalStore store_;
  std::unique_ptr<Limiter> limiter_;
  std::uint32_t until_tended_ = 0;
};

}  // namespace sluice::plan

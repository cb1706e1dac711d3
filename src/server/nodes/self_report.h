#pragma once

#include <string>

#include "base/mutex.h"
#include "telemetry/decision_counters.h"
#include "telemetry/node_report.h"

namespace sluice::server {

// The part of this node's report that stays, and its counters, which one thread refreshes now and then: to
// sum them up takes too long for a loop. Thread-safe.
class SelfReport {
 public:
  // `fixed`: id, version and what else never changes.
  explicit SelfReport(NodeReport fixed) : report_(std::move(fixed)) {}

  // Call it once a second. With very many policies it does something every few calls only.
  void refresh(DecisionTotals& totals, std::size_t policies, std::int64_t now_us);
  NodeReport report() const {
    const Lock lock(mutex_);
    return report_;
  }

 private:
  mutable Mutex mutex_;
  NodeReport report_ SLUICE_GUARDED_BY(mutex_);
  std::size_t calls_ = 0;
};

// The name of this host, as far as the system knows it.
std::string host_name();
// A new one for each run of the process.
std::string fresh_node_id();

}  // namespace sluice::server

#pragma once

#include <cstdint>
#include <functional>

#include "base/clock.h"
#include "plan/log/traffic_entry.h"
#include "plan/policy_set.h"
#include "plan/report/tally.h"

namespace sluice::plan {

// Lines that were older than a line before them. They are replayed at the newest time so far, because time
// must never go back for a counter.
struct Disorder {
  std::uint64_t late = 0;
  std::int64_t latest_by_us = 0;  // how far behind the worst one was
};

// Checks the traffic of the past against policies, at the times of the past. Not thread-safe.
class Replay {
 public:
  // A denied request, and the limit that denied it.
  struct Denial {
    std::int64_t at_us;
    const CheckRequest& request;
    const Decision& decision;
    bool newly;
  };
  using OnDenial = std::function<void(const Denial&)>;

  struct Parts {
    ManualClock& clock;   // the clock of the policies below
    PolicySet& policies;  // the policies to evaluate
    PolicySet* against;   // the policies in force today; null: the log says what was denied then
    Tally& tally;
    OnDenial on_denial;  // may be empty
  };
  explicit Replay(Parts parts) : parts_(std::move(parts)) {}

  // False: the memory for counters is exhausted, and the decision for this request is unknown.
  bool add(const TrafficEntry& entry);

  const Disorder& disorder() const { return disorder_; }

 private:
  Parts parts_;
  Disorder disorder_;
};

}  // namespace sluice::plan

#pragma once

#include <cstdint>
#include <functional>

#include "base/clock.h"
#include "plan/policy_set.h"
#include "plan/tally.h"
#include "plan/traffic_entry.h"

namespace sluice::plan {

// Lines that were older than one before them. They are replayed at the newest time so far: no counter has
// ever seen time go back.
struct Disorder {
  std::uint64_t late = 0;
  std::int64_t latest_by_us = 0;  // how far the worst was behind
};

// Asks the policies what they make of the traffic of the past, at the times of the past. Not thread-safe.
class Replay {
 public:
  // A request that was denied, and by what.
  struct Denial {
    std::int64_t at_us;
    const CheckRequest& request;
    const Decision& decision;
    bool newly;
  };
  using OnDenial = std::function<void(const Denial&)>;

  struct Parts {
    ManualClock& clock;   // that of the policies, below
    PolicySet& policies;  // whose consequences we want to know
    PolicySet* against;   // those in force today; null: the log tells who was denied then
    Tally& tally;
    OnDenial on_denial;  // may be empty
  };
  explicit Replay(Parts parts) : parts_(std::move(parts)) {}

  // False: the memory for counters is used up, and what the policies make of this request is not known.
  bool add(const TrafficEntry& entry);

  const Disorder& disorder() const { return disorder_; }

 private:
  Parts parts_;
  Disorder disorder_;
};

}  // namespace sluice::plan

#pragma once

#include <cstdint>
#include <span>

#include "store/charge.h"

namespace sluice {

// Counters in this process, and the clock that decides on them: what a MemoryStore charges, and what
// `on_failure: local` falls back to. Shared by all loops. Thread-safe.
class Counters {
 public:
  virtual ~Counters() = default;

  // Charges every counter or, if any of them denies, none (except those with OnDenial::kCharge). One atomic
  // step: concurrent calls never see half of it. If the check is denied, the result of a counter that had
  // room has its unchanged level; only a leaky_bucket's denied cost changes then. Charges that there is no
  // memory for are passed over if all of them permit it. `now_us` receives the time of the decision.
  // REQUIRES: results.size() == charges.size() <= kLimitsPerCheckMax; keys are distinct.
  virtual Verdict apply(std::span<const Charge> charges, std::span<ChargeResult> results,
                        std::int64_t& now_us) = 0;

  // Gives back what an allowed check charged at `granted_at_us` (algorithm/refund.h). On entry `results`
  // holds its answer, on return the levels. Grant::kAnyTime: the time of the charge is not known. Not atomic
  // across counters, as nothing is decided. Never kDenied. REQUIRES: as apply().
  virtual Verdict refund(std::span<const Charge> charges, std::span<ChargeResult> results,
                         std::int64_t granted_at_us, std::int64_t& now_us) = 0;

  // A hint that apply() will soon be called for this key. Callers with several checks at hand call it for all
  // of them first: fetching a counter into the cache takes longer than deciding on it.
  virtual void prefetch(const KeyHash& /*key*/) const {}

  // Forgets these counters; returns how many existed, or a negative number for no answer.
  virtual int reset(std::span<const KeyHash> keys) = 0;

  // When a check last found no memory for a counter; 0: never.
  virtual std::int64_t no_room_at_us() const { return 0; }

  // A small piece of upkeep (expiry), called often by the event loops. Never blocks for long.
  virtual void tend() {}

  struct Stats {
    std::uint64_t keys = 0;
    std::uint64_t bytes = 0;
    std::uint64_t bytes_max = 0;
    std::uint64_t expired = 0;
    std::uint64_t evicted_idle = 0;  // forgotten to make room, not by regular expiry
    std::uint64_t no_room = 0;       // checks that found no memory for a counter
  };
  virtual Stats stats() const = 0;
};

// Charges as many units as all counters have room for, at most the cost of the charges, which is the same for
// all. kAllowed: `granted` of them, at least one. kDenied: the results are those of a check of one unit. Each
// try is one atomic step, so nothing is charged that there is no room for; if others charge at the same time,
// fewer units may be granted than there were at first.
// REQUIRES: as apply(); a cost of at least 1; no OnDenial::kCharge.
Verdict apply_lease(Counters& counters, std::span<const Charge> charges, std::span<ChargeResult> results,
                    std::int64_t& granted, std::int64_t& now_us);

}  // namespace sluice

#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "algorithm/refund.h"
#include "algorithm/step.h"
#include "base/secret/hash.h"
#include "store/params_table.h"

namespace sluice {

// One charge: the counter, the numbers of its limit, and the cost.
struct Charge {
  KeyHash key;
  ParamsId params = 0;  // of the store's ParamsTable
  std::int64_t cost = 1;
  OnDenial on_denial = OnDenial::kFree;
  std::uint32_t slot_tag = 0;  // 18 bits: the slot of a cluster; 12 more: the owner (redis/script/wire.h)
};

// How near a counter is to its limit. Above 80 % it warns until it falls below 70 % again, so that the
// answer does not flicker; at 100 % it throttles.
enum class Pressure : std::uint8_t { kNormal, kWarning, kThrottled };

// The result of one Charge.
struct ChargeResult {
  Outcome outcome;
  Pressure pressure = Pressure::kNormal;
  // leaky_bucket only: the cost of the checks denied since the last admission, whichever limit denied them
  std::int64_t denied_cost = 0;
  // Of a look (cost 0) only: if nobody else comes, a cost of 1 fits then, and not before. 0 while anything
  // remains; kNever under a limit of 0.
  std::int64_t one_unit_after_us = 0;
};

// A denial is an answer; only a missing answer is a failure. The policy's `on_failure` decides what that
// means, not the store.
enum class Verdict : std::uint8_t {
  kAllowed,
  kDenied,
  kNoAnswer,
  kNoRoom,  // it would fit, but there is no memory for the counter: nothing was charged
  // Not a failure either: the store works, but too many calls wait for it to answer in time. So it was not
  // asked, and nothing was charged. This is our overload, and never a reason to let a request pass.
  kShed,
};

// Whether the store has decided.
constexpr bool is_answer(Verdict verdict) { return verdict < Verdict::kNoAnswer; }

// Whether a refund gives this charge back. A limit that charges denials keeps the charge of a check that was
// denied in the end. With Grant::kAnyTime there was no such denial, so every charge is given back.
inline bool is_given_back(const Charge& charge, std::int64_t granted_at_us) {
  return charge.cost > 0 && (charge.on_denial == OnDenial::kFree || granted_at_us == Grant::kAnyTime);
}

// Whether a check with this outcome has charged something: an admitted check with a cost, or a denied one
// with a limit that charges denials. REQUIRES: is_answer(verdict)
inline bool has_charged(std::span<const Charge> charges, Verdict verdict) {
  return std::ranges::any_of(charges, [verdict](const Charge& charge) {
    return charge.cost > 0 && (verdict == Verdict::kAllowed || charge.on_denial == OnDenial::kCharge);
  });
}

// Counters, and the clock that decides on them. Thread-safe.
class Store {
 public:
  virtual ~Store() = default;

  // Charges every counter or, if any of them denies, none (except those with OnDenial::kCharge). One atomic
  // step: concurrent calls never see half of it. If the check is denied, the result of a counter that had
  // room tells its unchanged level; only a leaky_bucket's denied cost changes then. `now_us` receives the
  // store's time of the decision.
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

  // When a check was last answered kNoRoom; 0: never.
  virtual std::int64_t no_room_at_us() const { return 0; }

  // A small piece of upkeep (expiry), called often by the event loops. Never blocks for long.
  virtual void tend() {}

  struct Stats {
    std::uint64_t keys = 0;
    std::uint64_t bytes = 0;
    std::uint64_t bytes_max = 0;
    std::uint64_t expired = 0;
    std::uint64_t evicted_idle = 0;  // forgotten to make room, not by regular expiry
    std::uint64_t no_room = 0;       // checks that were answered kNoRoom
  };
  virtual Stats stats() const = 0;
};

}  // namespace sluice

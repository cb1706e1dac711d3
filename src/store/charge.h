#pragma once

#include <algorithm>
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
  // What happens if the store has no memory for this counter and the check would be allowed. True: this
  // charge is passed over, and the other counters decide (Verdict::kPartlyCounted). False: nothing is
  // charged.
  bool passes_without_room = false;
  std::uint32_t slot_tag = 0;  // 18 bits: the slot of a cluster; 12 more: the owner (redis/script/wire.h)
};

// How near a counter is to its limit. Above 80 % it warns until it falls below 70 % again, so that the
// answer does not flicker; at 100 % it throttles.
enum class Pressure : std::uint8_t { kNormal, kWarning, kThrottled };

// The result of one Charge.
struct ChargeResult {
  Outcome outcome;
  Pressure pressure = Pressure::kNormal;
  // Of a check that is kPartlyCounted only: the charge was passed over, and the outcome is the unchanged
  // level.
  bool passed_over = false;
  // leaky_bucket only: the cost of the checks denied since the last admission, whichever limit denied them
  std::int64_t denied_cost = 0;
  // Of a look (cost 0) only: if nobody else comes, a cost of 1 fits then, and not before. 0 while anything
  // remains; kNever under a limit of 0.
  std::int64_t one_unit_after_us = 0;
  // Of a lease on several slots of a cluster only: the slot's own time of the charge, which its return needs.
  // 0: not known. Elsewhere all counters are charged at the time of the call, and this is 0.
  std::int64_t charged_at_us = 0;
};

// A denial is an answer; only a missing answer is a failure. The policy's `on_failure` decides what that
// means, not the store.
enum class Verdict : std::uint8_t {
  kAllowed,
  // Allowed by every counter that there is memory for, and charged there. The other charges were passed over;
  // there is at least one of each kind.
  kPartlyCounted,
  kDenied,
  kNoAnswer,
  kNoRoom,  // it would fit, but there is no memory for a counter: nothing was charged
  // Not a failure either: the store works, but too many calls wait for it to answer in time. So it was not
  // asked, and nothing was charged. This is our overload, and never a reason to let a request pass.
  kShed,
};

// Whether the store has decided.
constexpr bool is_answer(Verdict verdict) { return verdict < Verdict::kNoAnswer; }
constexpr bool is_allowed(Verdict verdict) { return verdict < Verdict::kDenied; }

// Whether a refund gives this charge back. A limit that charges denials keeps the charge of a check that was
// denied in the end. With Grant::kAnyTime there was no such denial, so every charge is given back.
inline bool is_given_back(const Charge& charge, std::int64_t granted_at_us) {
  return charge.cost > 0 && (charge.on_denial == OnDenial::kFree || granted_at_us == Grant::kAnyTime);
}

// Whether a check with this outcome has charged something: an admitted check with a cost, or a denied one
// with a limit that charges denials. REQUIRES: is_answer(verdict)
inline bool has_charged(std::span<const Charge> charges, Verdict verdict) {
  return std::ranges::any_of(charges, [verdict](const Charge& charge) {
    return charge.cost > 0 && (is_allowed(verdict) || charge.on_denial == OnDenial::kCharge);
  });
}

}  // namespace sluice

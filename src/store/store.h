#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "algorithm/refund.h"
#include "algorithm/step.h"
#include "base/hash.h"
#include "store/params_table.h"

namespace sluice {

// One counter to charge: which, by which numbers, how much.
struct Charge {
  KeyHash key;
  ParamsId params = 0;  // of the store's ParamsTable
  std::int64_t cost = 1;
  OnDenial on_denial = OnDenial::kFree;
  std::uint32_t slot_tag = 0;  // 18 bits: the slot of a cluster; 12 more: the owner (redis/wire.h)
};

// How near a counter is to its limit. Above 80 % it warns until it falls below 70 % again, so that the
// answer does not flicker; at 100 % it throttles.
enum class Pressure : std::uint8_t { kNormal, kWarning, kThrottled };

// What became of one Charge.
struct ChargeResult {
  Outcome outcome;
  Pressure pressure = Pressure::kNormal;
  // leaky_bucket only: the cost of its checks that were denied since the last admission, by whichever limit
  std::int64_t denied_cost = 0;
};

// A denial is an answer; only the lack of one is a failure. What that becomes is the policy's `on_failure` to
// say, not the store's.
enum class Verdict : std::uint8_t {
  kAllowed,
  kDenied,
  kNoAnswer,
  kNoRoom,  // it would fit, but there is no memory to count it in: nothing was charged
  // Nor is this a failure: the store works, but more waits for it than it can answer in time, so it was not
  // asked, and nothing was charged. That is our overload, never a reason to let somebody pass.
  kShed,
};

// Whether the store has decided.
constexpr bool is_answer(Verdict verdict) { return verdict < Verdict::kNoAnswer; }

// Whether a refund gives this charge back. A limit that charges denials keeps what a check took that was
// denied in the end; of units whose charge nobody remembers, no check was denied.
inline bool is_given_back(const Charge& charge, std::int64_t granted_at_us) {
  return charge.cost > 0 && (charge.on_denial == OnDenial::kFree || granted_at_us == Grant::kAnyTime);
}

// Whether a check with this outcome was charged: an admitted one by its cost, a denied one where a limit
// charges denials. REQUIRES: is_answer(verdict)
inline bool has_charged(std::span<const Charge> charges, Verdict verdict) {
  return std::ranges::any_of(charges, [verdict](const Charge& charge) {
    return charge.cost > 0 && (verdict == Verdict::kAllowed || charge.on_denial == OnDenial::kCharge);
  });
}

// A Store owns counters and the clock that decides on them. Thread-safe.
class Store {
 public:
  virtual ~Store() = default;

  // Charges every counter, or, if any of them denies, none (except those with OnDenial::kCharge). One atomic
  // step: concurrent calls never see half of it. When the whole is denied, the result of a counter that had
  // room tells its unchanged level; all that changes then is a leaky_bucket's denied cost. `now_us` receives
  // the store's time of the decision. REQUIRES: results.size() == charges.size() <= kLimitsPerCheckMax; keys
  // are distinct.
  virtual Verdict apply(std::span<const Charge> charges, std::span<ChargeResult> results,
                        std::int64_t& now_us) = 0;

  // Gives back what an allowed check has charged at `granted_at_us` (algorithm/refund.h); `results` still
  // holds what it was told, and then tells the levels. Grant::kAnyTime: units that nobody remembers when they
  // were charged. Counter by counter, for nothing is decided. Never kDenied. REQUIRES: as apply().
  virtual Verdict refund(std::span<const Charge> charges, std::span<ChargeResult> results,
                         std::int64_t granted_at_us, std::int64_t& now_us) = 0;

  // A hint that apply() will soon be asked for this key. Whoever has several checks at hand calls it for all
  // of them first: a counter's way into the cache takes longer than the decision on it.
  virtual void prefetch(const KeyHash& /*key*/) const {}

  // Forgets these counters; returns how many existed, or a negative number for no answer.
  virtual int reset(std::span<const KeyHash> keys) = 0;

  // When a check was last answered kNoRoom; 0: never.
  virtual std::int64_t no_room_at_us() const { return 0; }

  // A small piece of upkeep (expiry); called often by whoever runs the event loops. Never blocks for long.
  virtual void tend() {}

  struct Stats {
    std::uint64_t keys = 0;
    std::uint64_t bytes = 0;
    std::uint64_t bytes_max = 0;
    std::uint64_t expired = 0;
    std::uint64_t evicted_idle = 0;  // forgotten to make room, rather than in passing
    std::uint64_t no_room = 0;       // checks that were answered so
  };
  virtual Stats stats() const = 0;
};

}  // namespace sluice

#pragma once

#include "algorithm/step.h"
#include "store/charge.h"

namespace sluice {

// A counter starts to warn above the first share of its capacity, and stops below the second.
inline constexpr std::int64_t kWarningStartsPercent = 80;
inline constexpr std::int64_t kWarningLastsPercent = 70;

// Whether a counter warns, given whether it warned at the last charge.
inline bool warns(const LimitParams& params, std::int64_t remaining, bool warned_before) {
  const std::int64_t used_percents = (params.capacity - remaining) * 100;
  return used_percents > kWarningStartsPercent * params.capacity ||
         (warned_before && used_percents > 0 && used_percents >= kWarningLastsPercent * params.capacity);
}

// Depends on use alone: a large cost that is denied on a half-used limit is not throttling.
inline Pressure pressure_of(std::int64_t remaining, bool warns) {
  if (remaining == 0) return Pressure::kThrottled;
  return warns ? Pressure::kWarning : Pressure::kNormal;
}

}  // namespace sluice

#pragma once

#include "algorithm/step.h"
#include "store/store.h"

namespace sluice {

// Above these shares of the capacity a counter starts to warn, and goes on warning.
inline constexpr std::int64_t kWarningStartsPercent = 80;
inline constexpr std::int64_t kWarningLastsPercent = 70;

// Whether a counter warns, given whether it did so at the last touch.
inline bool warns(const LimitParams& params, std::int64_t remaining, bool warned_before) {
  const std::int64_t used_percents = (params.capacity - remaining) * 100;
  return used_percents > kWarningStartsPercent * params.capacity ||
         (warned_before && used_percents > 0 && used_percents >= kWarningLastsPercent * params.capacity);
}

// It follows use alone: a large cost that is denied on a half-used limit throttles nobody.
inline Pressure pressure_of(std::int64_t remaining, bool warns) {
  if (remaining == 0) return Pressure::kThrottled;
  return warns ? Pressure::kWarning : Pressure::kNormal;
}

}  // namespace sluice

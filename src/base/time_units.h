#pragma once

#include <cstdint>

// Times and durations are integers in microseconds, and their names end in `_us`.
namespace sluice {

inline constexpr std::int64_t kSecondUs = 1'000'000;
inline constexpr std::int64_t kMinuteUs = 60 * kSecondUs;
inline constexpr std::int64_t kHourUs = 60 * kMinuteUs;
inline constexpr std::int64_t kDayUs = 24 * kHourUs;

}  // namespace sluice

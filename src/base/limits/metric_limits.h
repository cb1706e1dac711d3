#pragma once

#include <cstddef>

namespace sluice {

// Versions of a policy that metrics tell apart; earlier ones are summed up as version="older".
inline constexpr std::size_t kMetricVersionsMax = 4;
// Owners that metrics tell apart; the rest is "other".
inline constexpr std::size_t kMetricOwnersMax = 200;

}  // namespace sluice

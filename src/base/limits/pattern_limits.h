#pragma once

#include <cstddef>

// Bounds on the steps of a lookup among patterns; see policy/matching/pattern_steps.h.
namespace sluice {

inline constexpr std::size_t kPatternStepsMax = 1024;     // of one tenant's policies, or those for any tenant
inline constexpr std::size_t kCostPatternStepsMax = 256;  // of one policy's `costs`: a check looks up many

}  // namespace sluice

#pragma once

#include "algorithm/limit_params.h"

namespace sluice {

// For tests of what holds whatever the algorithm.
inline constexpr Algorithm kEveryAlgorithm[] = {Algorithm::kGcra,          Algorithm::kTokenBucket,
                                                Algorithm::kLeakyBucket,   Algorithm::kFixedWindow,
                                                Algorithm::kSlidingWindow, Algorithm::kSlidingLog};

}  // namespace sluice

#pragma once

#include <cstddef>
#include <string>

#include "policy/model.h"

// Tiers whose limits add up.
//
// All tiers of a limit share its counters, and what was used goes with the numbers it was last charged by. A
// fixed window or a log forgets all of it at one moment. If tiers forget at different moments, whoever
// chooses its tier can use one, be forgotten by another, and use it again: docs/algorithms.md has the bound.
// Buckets and sliding windows give back little by little, at the rate of one tier at a time: these do not add
// up among themselves, whatever their periods.
namespace sluice {

// The sentence for the author, or nothing. `limit` is its position in the policy.
std::string mixed_tiers_warning(const Policy& policy, std::size_t limit);

}  // namespace sluice

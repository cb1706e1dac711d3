#pragma once

#include <cstddef>

#include "base/limits.h"

// Bounds of the Envoy door, as base/limits.h has those of all others.
namespace sluice {

inline constexpr std::size_t kEnvoyDescriptorsMax = 100;         // of one request
inline constexpr std::size_t kEnvoyEntriesMax = kDimensionsMax;  // of one descriptor

}  // namespace sluice

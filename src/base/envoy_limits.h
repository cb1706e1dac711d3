#pragma once

#include <cstddef>

#include "base/limits.h"

// Bounds of the Envoy door, as base/limits.h has those of all others.
namespace sluice {

inline constexpr std::size_t kEnvoyDescriptorsMax = 100;         // of one request
inline constexpr std::size_t kEnvoyEntriesMax = kDimensionsMax;  // of one descriptor
// Of a file, in place of kDocumentDepthMax: a level of descriptors is a list of maps, and what is within the
// last one needs some more.
inline constexpr std::size_t kEnvoyDocumentDepthMax = 2 * kEnvoyEntriesMax + 8;

}  // namespace sluice

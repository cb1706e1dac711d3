#pragma once

#include <cstddef>

#include "base/limits.h"

// Bounds of the Envoy endpoint; base/limits.h has those of all others.
namespace sluice {

inline constexpr std::size_t kEnvoyDescriptorsMax = 100;         // of one request
inline constexpr std::size_t kEnvoyEntriesMax = kDimensionsMax;  // of one descriptor
// For Envoy files, in place of kDocumentDepthMax: a level of descriptors is a list of maps, and the contents
// of the last one need some more.
inline constexpr std::size_t kEnvoyDocumentDepthMax = 2 * kEnvoyEntriesMax + 8;

}  // namespace sluice

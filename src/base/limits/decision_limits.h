#pragma once

#include <cstddef>
#include <cstdint>

// The record of decisions: what a node remembers, and what one answer lists.
namespace sluice {

inline constexpr std::uint64_t kDecisionsMiB = 4;  // of a node, unless --decisions-mib says otherwise
inline constexpr std::uint64_t kDecisionsMiBMax = 256;
// Of the checks that were allowed as usual, one in so many is kept, at random.
inline constexpr std::uint32_t kDecisionSampleOneIn = 1'000;
// Longer texts are cut. Tenants and keys are kept whole.
inline constexpr std::size_t kDecisionResourceBytesMax = 256;
inline constexpr std::size_t kDecisionDimensionsBytesMax = 512;  // of all together
inline constexpr std::size_t kDecisionsListedMax = 1'000;        // by one answer
inline constexpr std::size_t kDecisionPageBytesMax = 1u << 20;   // likewise

}  // namespace sluice

#pragma once

#include <cstddef>

// Bounds on calls with long answers. Separate from limits.h, because few files need them.
namespace sluice {

// Up to this many unread bytes, a call's client keeps up; beyond that, the sender waits.
inline constexpr std::size_t kStreamOutputBytesWanted = 32u << 10;
inline constexpr std::size_t kPolicyListsMax = 16;  // running ListPolicies calls of one loop
// An answer of GetCurrentConfig, which is one message: by default, gRPC clients accept at most 4 MiB.
inline constexpr std::size_t kCurrentConfigBytesMax = 3u << 20;

}  // namespace sluice

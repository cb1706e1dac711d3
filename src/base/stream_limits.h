#pragma once

#include <cstddef>

// Bounds of calls with long answers. Apart from limits.h, because few need them.
namespace sluice {

// With so many unread bytes of messages a call's reader keeps up; beyond, whoever has more waits.
inline constexpr std::size_t kStreamOutputBytesWanted = 32u << 10;
inline constexpr std::size_t kPolicyListsMax = 16;  // ListPolicies calls under way, of one loop
// An answer of GetCurrentConfig, which is one message: clients of gRPC take no more than 4 MiB unless told.
inline constexpr std::size_t kCurrentConfigBytesMax = 3u << 20;

}  // namespace sluice

#pragma once

#include <cstddef>

// Bounds of streaming calls. Apart from limits.h, because few need them.
namespace sluice {

// With so many unread bytes of messages a call's reader keeps up; beyond, whoever has more waits.
inline constexpr std::size_t kStreamOutputBytesWanted = 32u << 10;
inline constexpr std::size_t kPolicyListsMax = 16;  // ListPolicies calls under way, of one loop

}  // namespace sluice

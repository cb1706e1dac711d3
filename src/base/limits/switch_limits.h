#pragma once

#include <cstddef>
#include <cstdint>

// Bounds on what operators do in an emergency; limits.h has the others.
namespace sluice {

// The big red switch returns to normal by itself.
inline constexpr std::int64_t kSwitchSecondsMin = 1;
inline constexpr std::int64_t kSwitchSecondsMax = 7LL * 86'400;
inline constexpr std::int64_t kSwitchSecondsDefault = 3600;

inline constexpr std::size_t kOutboxMax = 1'000;           // changes in force that wait for the database
inline constexpr std::size_t kOutboxBytesMax = 16u << 20;  // of these, on disk

}  // namespace sluice

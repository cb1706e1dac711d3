#pragma once

#include <cstddef>
#include <cstdint>

// Bounds of what all clients together may take. Apart from limits.h, because few need them.
namespace sluice {

inline constexpr std::size_t kDescriptorsKept = 128;           // not for clients: stores, databases, files
inline constexpr std::size_t kMemoryReserveBytes = 16u << 20;  // see base/memory_reserve.h
inline constexpr std::uint64_t kBufferMiBMin = 8, kBufferMiBMax = 1u << 20;  // of --buffer-mib

}  // namespace sluice

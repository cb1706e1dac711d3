#pragma once

#include <cstddef>
#include <cstdint>

// Bounds on what all clients together may use. Separate from limits.h, because few files need them.
namespace sluice {

inline constexpr std::size_t kDescriptorsKept = 128;           // reserved for stores, databases and files
inline constexpr std::size_t kMemoryReserveBytes = 16u << 20;  // see base/memory/memory_reserve.h
inline constexpr std::uint64_t kBufferMiBMin = 8, kBufferMiBMax = 1u << 20;  // of --buffer-mib
inline constexpr std::size_t kClientHelloBytesMax = 16u << 10;  // the first message of a TLS client

}  // namespace sluice

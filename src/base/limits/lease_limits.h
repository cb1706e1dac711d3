#pragma once

#include <cstddef>
#include <cstdint>

#include "base/time_units.h"

// Leases: units that a holder may spend without asking.
namespace sluice {

inline constexpr std::int64_t kLeaseUnitsMax = 1'000'000;
inline constexpr std::int64_t kLeaseLifeUs = 10 * kSecondUs;
// How often a holder of a busy key is advised to ask.
inline constexpr std::int64_t kLeaseRefreshUs = kSecondUs;
// How long a holder that cannot reach the server may go on, with the lease's safe capacity.
inline constexpr std::int64_t kLeaseExtensionUs = kMinuteUs;
inline constexpr std::size_t kLeaseIdBytesMax = 24u << 10;
// What a node can list. Older leases of the same tenant make room.
inline constexpr std::size_t kLeasesListedMax = 20'000;
inline constexpr std::size_t kLeasesListedPerTenantMax = 2'000;
inline constexpr std::size_t kLeasesListedBytesMax = 8u << 20;  // of their texts

}  // namespace sluice

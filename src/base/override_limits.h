#pragma once

#include "base/limits.h"

// Bounds on the overrides of one user, beside those in base/limits.h.
namespace sluice {

// For the policies of one tenant; those of policies for any tenant count together, too.
inline constexpr std::size_t kOverridesPerTenantMax = kOverridesPerUserMax;
// In all: a user of many tenants has room for each of a few.
inline constexpr std::size_t kOverridesInAllMax = 8 * kOverridesPerTenantMax;

}  // namespace sluice

#pragma once

#include "base/limits.h"

// Bounds on the overrides of one user, beside those in base/limits.h.
namespace sluice {

// For the policies of one tenant; policies for any tenant count together as one tenant.
inline constexpr std::size_t kOverridesPerTenantMax = kOverridesPerUserMax;
// In total: a user with several tenants has room for a few of them.
inline constexpr std::size_t kOverridesInAllMax = 8 * kOverridesPerTenantMax;

}  // namespace sluice

#pragma once

#include <cstdint>
#include <string_view>

#include "base/hash.h"

namespace sluice {

// A counter's slot tag decides on which node of a Cluster it lives; counters with one tag live together. 18
// bits: more than a Cluster has slots, and short in a key's name.
inline std::uint32_t slot_tag_of(const KeyHash& hash) {
  constexpr std::uint32_t kMask = (1u << 18) - 1;
  return static_cast<std::uint32_t>(hash.low) & kMask;
}

// The tag of all counters that are kept per tenant.
inline std::uint32_t slot_tag_of_tenant(std::string_view tenant, const KeyHasher& hasher) {
  return slot_tag_of(hasher(tenant));
}

}  // namespace sluice

#pragma once

#include <cstdint>
#include <string_view>

#include "base/secret/hash.h"

namespace sluice {

// A counter's slot tag decides which node of a Cluster holds it: counters whose tags share the low 18 bits
// are on the same node. 18 bits are more than a Cluster has slots, and short in a key's name. The next 12
// bits identify the owning tenant; 0: none.
inline std::uint32_t slot_tag_of(const KeyHash& hash) {
  constexpr std::uint32_t kMask = (1u << 18) - 1;
  return static_cast<std::uint32_t>(hash.low) & kMask;
}

// The tag of all counters of a tenant. With the owner's bits, only one tenant in a billion shares it: a
// tenant that moves to another store takes its own counters along, and no others. `of_tenant`: the hash of
// the tenant's name.
inline std::uint32_t slot_tag_of_tenant(const KeyHash& of_tenant) {
  constexpr std::uint32_t kOwners = (1u << 12) - 1;
  return slot_tag_of(of_tenant) | (1 + static_cast<std::uint32_t>(of_tenant.high % kOwners)) << 18;
}
inline std::uint32_t slot_tag_of_tenant(std::string_view tenant, const KeyHasher& hasher) {
  return slot_tag_of_tenant(hasher(tenant));
}

}  // namespace sluice

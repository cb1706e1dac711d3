#pragma once

#include <cstdint>
#include <string_view>

#include "base/hash.h"

namespace sluice {

// A counter's slot tag decides on which node of a Cluster it lives: counters whose tags have the low 18 bits
// in common live together. 18 bits: more than a Cluster has slots, and short in a key's name. The next 12
// bits tell whose counter it is; 0: nobody's.
inline std::uint32_t slot_tag_of(const KeyHash& hash) {
  constexpr std::uint32_t kMask = (1u << 18) - 1;
  return static_cast<std::uint32_t>(hash.low) & kMask;
}

// The tag of all counters of a tenant. With the owner's bits no other keys share it, but those of one tenant
// in a billion: a tenant that moves to another store takes its own counters along, and nobody else's.
// `of_tenant`: the hash of its name.
inline std::uint32_t slot_tag_of_tenant(const KeyHash& of_tenant) {
  constexpr std::uint32_t kOwners = (1u << 12) - 1;
  return slot_tag_of(of_tenant) | (1 + static_cast<std::uint32_t>(of_tenant.high % kOwners)) << 18;
}
inline std::uint32_t slot_tag_of_tenant(std::string_view tenant, const KeyHasher& hasher) {
  return slot_tag_of_tenant(hasher(tenant));
}

}  // namespace sluice

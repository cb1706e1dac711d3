#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/secret/hash.h"
#include "base/text/big_endian.h"

// The encoding of keys in calls of the script (see README.md). Numbers are big-endian, as in Lua's struct
// library (base/text/big_endian.h).
namespace sluice {

// Appends the name of a key: prefix, {slot} in 3 letters, its owner in 2, and 120 bits of its hash in 20.
// With the usual prefix of three letters that is 30 bytes: Redis puts such a key into 32 bytes of memory, and
// one more byte would make it 48. The low 18 bits of a slot tag are the slot: keys with the same slot live on
// one node of a cluster. The next 12 bits are the owner: 1…4095 for a tenant's keys, 0 for keys without an
// owner. Slot and owner together distinguish one tenant's keys from all others, so that they can be moved.
void append_key(std::string& out, std::string_view prefix, std::uint32_t slot_tag, const KeyHash& hash);

// The cluster slot of keys with this tag. Only correct while the prefix contains no {.
std::uint16_t slot_of_tag(std::uint32_t slot_tag);

// Slot and owner as in the names: "AAFBC". REQUIRES: the tag has an owner.
std::string owner_letters(std::uint32_t slot_tag);

// The hash of the tenants that are moving or have moved away (tenant_move/tenant_move.h).
inline std::string moves_key(std::string_view prefix) { return std::string(prefix) + "moves"; }

// The length of the names that append_key makes, without the prefix.
inline constexpr std::size_t kKeyBytesAfterPrefix = 27;

}  // namespace sluice

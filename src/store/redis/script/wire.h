#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/secret/hash.h"

// The encoding of numbers and keys in calls of the script (see README.md): big-endian, as in Lua's struct
// library.
namespace sluice {

inline void append_number(std::string& out, std::uint64_t number, int bytes) {
  for (int shift = 8 * (bytes - 1); shift >= 0; shift -= 8) out += static_cast<char>(number >> shift & 0xff);
}

// REQUIRES: at + size <= bytes.size()
inline std::int64_t number_at(std::string_view bytes, std::size_t at, std::size_t size) {
  std::uint64_t number = 0;
  for (std::size_t i = at; i < at + size; ++i) number = number << 8 | static_cast<unsigned char>(bytes[i]);
  return static_cast<std::int64_t>(number);
}

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

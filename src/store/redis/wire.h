#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/hash.h"

// How numbers and keys look in the calls of the script (see README.md): big-endian, as Lua's struct library
// has them.
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

// The name of a key: prefix, {slot tag} in 3 letters (18 bits), and the 128 bits of its hash in 22. With the
// usual prefix of three letters that is 30 bytes: Redis puts such a key into 32 bytes of memory, and one more
// byte would make it 48. Keys with one tag live on one node of a cluster.
void append_key(std::string& out, std::string_view prefix, std::uint32_t slot_tag, const KeyHash& hash);

// The slot of a cluster that keys with this tag live in. Only true while the prefix has no { of its own.
std::uint16_t slot_of_tag(std::uint32_t slot_tag);

// How long the names are that append_key makes, without the prefix.
inline constexpr std::size_t kKeyBytesAfterPrefix = 27;

}  // namespace sluice

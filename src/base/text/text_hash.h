#pragma once

#include <cstdint>
#include <string_view>

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace sluice {

// A hash for in-memory tables whose keys come from policy files. Callers from outside cannot insert keys,
// only look them up.
inline std::uint64_t hash_text(std::string_view text, std::uint64_t seed = 0) {
  return XXH3_64bits_withSeed(text.data(), text.size(), seed);
}

// Finds a std::string by a std::string_view, without a copy.
struct TextHash {
  using is_transparent = void;
  using is_avalanching = void;
  std::size_t operator()(std::string_view text) const { return hash_text(text); }
};

}  // namespace sluice

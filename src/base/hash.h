#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace sluice {

// A 128-bit fingerprint that stands for a counter's name. Two names share one with a chance of about
// n² ÷ 2^129: for a billion keys, 10^-21.
struct KeyHash {
  std::uint64_t high = 0;
  std::uint64_t low = 0;
  friend bool operator==(const KeyHash&, const KeyHash&) = default;
  friend auto operator<=>(const KeyHash&, const KeyHash&) = default;
};

// Turns bytes into KeyHashes with a secret, so that nobody outside can construct colliding keys.
// Immutable after construction; thread-safe.
class KeyHasher {
 public:
  static constexpr std::size_t kSecretBytes = 192;
  using Secret = std::array<unsigned char, kSecretBytes>;

  // A secret that lives as long as the process: right for counters that do, too.
  static KeyHasher with_random_secret();
  // The same text gives the same hashes everywhere: for stores shared by several nodes, and for tests.
  static KeyHasher from_text(std::string_view secret);

  KeyHash operator()(std::string_view bytes) const;

 private:
  explicit KeyHasher(const Secret& secret) : secret_(secret) {}
  alignas(64) Secret secret_;
};

}  // namespace sluice

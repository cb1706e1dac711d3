#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string_view>

namespace sluice {

// A 128-bit fingerprint that stands for a counter's name. Two of n names collide with a probability of about
// n² ÷ 2^129: for a billion keys, 10^-21.
struct KeyHash {
  std::uint64_t high = 0;
  std::uint64_t low = 0;
  friend bool operator==(const KeyHash&, const KeyHash&) = default;
  friend auto operator<=>(const KeyHash&, const KeyHash&) = default;
};

class SecretRing;

// Turns bytes into KeyHashes with a secret, so that outsiders cannot construct colliding keys. Thread-safe.
//
// The fast hash prevents deliberate collisions, but someone who has the hashes may find the addresses and
// users behind them by trying all. HMAC protects those, too, and costs 0.2 µs more.
class KeyHasher {
 public:
  static constexpr std::size_t kSecretBytes = 192;
  using Secret = std::array<unsigned char, kSecretBytes>;

  // A secret that lives as long as the process: right for counters that live as long.
  static KeyHasher with_random_secret();
  // The same text gives the same hashes everywhere: for stores shared by several nodes, and for tests.
  static KeyHasher from_text(std::string_view secret);

  // HMAC-SHA-256 with the ring's secret in force.
  static KeyHasher with_hmac(std::shared_ptr<const SecretRing> ring);

  KeyHash operator()(std::string_view bytes) const;

 private:
  explicit KeyHasher(const Secret& secret) : secret_(secret) {}
  KeyHash hmac(std::string_view bytes) const;

  alignas(64) Secret secret_;
  std::shared_ptr<const SecretRing> ring_;  // null: the fast hash
};

}  // namespace sluice

#include "base/secret/hash.h"

#include <sys/random.h>

#include <stdexcept>
#include <utility>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/secret/secret_ring.h"

namespace sluice {

KeyHasher KeyHasher::with_random_secret() {
  Secret secret;
  if (getrandom(secret.data(), secret.size(), 0) != static_cast<ssize_t>(secret.size()))
    throw std::runtime_error("cannot get random bytes from the kernel for the key hash");
  return KeyHasher(secret);
}

KeyHasher KeyHasher::from_text(std::string_view text) {
  Secret secret;
  XXH3_generateSecret(secret.data(), secret.size(), text.data(), text.size());
  return KeyHasher(secret);
}

KeyHasher KeyHasher::with_hmac(std::shared_ptr<const SecretRing> ring) {
  KeyHasher hasher{Secret{}};
  hasher.ring_ = std::move(ring);
  return hasher;
}

namespace {

KeyHash hmac_of(const HmacKey& key, std::string_view bytes) {
  const HmacKey::Digest digest = key(bytes);
  const auto number = [&digest](std::size_t from) {
    std::uint64_t sum = 0;
    for (std::size_t i = from; i < from + 8; ++i) sum = sum << 8 | digest[i];
    return sum;
  };
  return {number(0), number(8)};
}

}  // namespace

KeyHash KeyHasher::hmac(std::string_view bytes) const { return hmac_of(ring_->key(), bytes); }

std::vector<KeyHash> hashes_by_every_secret(const SecretRing& ring, std::string_view bytes) {
  std::vector<KeyHash> hashes;
  for (const HmacKey* key : ring.every_key()) hashes.push_back(hmac_of(*key, bytes));
  return hashes;
}

KeyHash KeyHasher::operator()(std::string_view bytes) const {
  if (ring_) [[unlikely]]
    return hmac(bytes);
  const auto hash = XXH3_128bits_withSecret(bytes.data(), bytes.size(), secret_.data(), secret_.size());
  return {hash.high64, hash.low64};
}

}  // namespace sluice

#include "base/hash.h"

#include <sys/random.h>

#include <stdexcept>

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace sluice {

KeyHasher KeyHasher::with_random_secret() {
  Secret secret;
  if (getrandom(secret.data(), secret.size(), 0) != static_cast<ssize_t>(secret.size()))
    throw std::runtime_error("the kernel gave no random bytes for the key hash");
  return KeyHasher(secret);
}

KeyHasher KeyHasher::from_text(std::string_view text) {
  Secret secret;
  XXH3_generateSecret(secret.data(), secret.size(), text.data(), text.size());
  return KeyHasher(secret);
}

KeyHash KeyHasher::operator()(std::string_view bytes) const {
  const auto hash = XXH3_128bits_withSecret(bytes.data(), bytes.size(), secret_.data(), secret_.size());
  return {hash.high64, hash.low64};
}

}  // namespace sluice

#pragma once

#include <string_view>

#include "base/secret/hash.h"

namespace sluice {

// The hasher for a store that several processes share: those with the same secret derive the same keys.
// Empty: the default secret.
inline KeyHasher shared_hasher(std::string_view secret) {
  return KeyHasher::from_text(secret.empty() ? "sluice" : secret);
}

}  // namespace sluice

#include "base/secret/same_secret.h"

#include <openssl/crypto.h>

namespace sluice {

bool is_same_secret(std::string_view one, std::string_view other) {
  return one.size() == other.size() && CRYPTO_memcmp(one.data(), other.data(), one.size()) == 0;
}

}  // namespace sluice

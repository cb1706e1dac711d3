#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/hash.h"
#include "base/secret_ring.h"
#include "policy/problems.h"

namespace sluice::cli {

// Reads the text of the file of --key-secrets, YAML or JSON:
//
//   secrets:
//     - version: 1
//       secret: 6f1c…                    # at least kKeySecretBytesMin characters
//     - version: 2
//       secret: a09e…
//       from: 2026-12-01T00:00:00Z       # absent: it was always there
//
// Everything that is wrong is added to `problems` with line and field, but never with a secret; the result is
// only to be used when there is nothing wrong. Never throws.
std::vector<KeySecret> parse_key_secrets(std::string_view text, const std::string& file, Problems& problems);

// The file's secrets go into the ring. Throws CommandError; then the ring stays as it is.
void read_key_secrets(const std::string& path, std::int64_t now_us, SecretRing& ring);

// The ring of --key-secrets; null without the flag. Throws CommandError, also if --key-secret is given as
// well.
std::shared_ptr<SecretRing> open_key_secrets(const std::string& key_secret, const std::string& path,
                                             std::int64_t now_us);

// How nodes that share a store come to the same keys: by the ring if there is one, else by --key-secret.
KeyHasher shared_hasher(const std::string& key_secret, const std::shared_ptr<SecretRing>& secrets);

std::string key_secret_metrics(const SecretRing& ring);

}  // namespace sluice::cli

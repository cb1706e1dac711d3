#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/secret/hash.h"
#include "base/secret/secret_ring.h"
#include "document/problems.h"

namespace sluice::server {

// Parses the file of --key-secrets, YAML or JSON:
//
//   secrets:
//     - version: 1
//       secret: 6f1c…                    # at least kKeySecretBytesMin characters
//     - version: 2
//       secret: a09e…
//       from: 2026-12-01T00:00:00Z       # absent: always valid
//
// Every problem is added to `problems` with line and field, but never with a secret; use the result only if
// there are none. Never throws.
std::vector<KeySecret> parse_key_secrets(std::string_view text, const std::string& file, Problems& problems);

// The file's secrets, which the ring can take. Throws CommandError if it cannot.
std::vector<KeySecret> read_key_secrets(const std::string& path, std::int64_t now_us, const SecretRing& ring);

// The ring of --key-secrets; null without the flag. Throws CommandError, also if --key-secret is given as
// well.
std::shared_ptr<SecretRing> open_key_secrets(const std::string& key_secret, const std::string& path,
                                             std::int64_t now_us);

// The hasher by which nodes that share a store derive the same keys: from the ring if there is one, else from
// --key-secret.
KeyHasher shared_hasher(const std::string& key_secret, const std::shared_ptr<SecretRing>& secrets);

std::string key_secret_metrics(const SecretRing& ring);

}  // namespace sluice::server

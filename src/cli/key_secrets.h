#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

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

std::string key_secret_metrics(const SecretRing& ring);

}  // namespace sluice::cli

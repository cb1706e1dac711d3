#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "document/problems.h"
#include "policy/users.h"

// The tier and overrides of one user, as a document:
//
//   {"tier":"premium","overrides":[{"policy_id":"api.read","limit":"burst","rate":"500/s","burst":900,
//                                   "expires_at":"2026-12-01T00:00:00Z"}]}
//
// An override without `expires_at` never expires. The policy and the limit that it names need not exist.
namespace sluice {

// Returns no value if something is wrong. Never throws.
std::optional<User> parse_user(std::string_view text, const std::string& id, Problems& problems);

// Appends to `out`. Reading the text gives an equal user; equal users give equal bytes.
void write_user(const User& user, std::string& out);

}  // namespace sluice

#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "policy/problems.h"
#include "policy/users.h"

// What is agreed with one user, as a document:
//
//   {"tier":"premium","overrides":[{"policy_id":"api.read","limit":"burst","rate":"500/s","burst":900,
//                                   "expires_at":"2026-12-01T00:00:00Z"}]}
//
// An override without `expires_at` holds for ever. A policy and a limit of that name need not exist.
namespace sluice {

// No value when something is wrong. Never throws.
std::optional<User> parse_user(std::string_view text, const std::string& id, Problems& problems);

// Reading it gives an equal user, and equal users are written as equal bytes. Appends to `out`.
void write_user(const User& user, std::string& out);

}  // namespace sluice

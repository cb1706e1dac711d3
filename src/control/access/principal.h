#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace sluice::control {

// What a caller may do. The texts ("check", "read", …) are part of stored tokens: they never change.
enum class Role : std::uint8_t {
  kCheck,     // make checks, where that needs a token at all
  kRead,      // see policies, usage, users and the audit log
  kWrite,     // kRead, and change policies and users
  kOperator,  // kRead, and reset counters, stop rollouts, turn the big red switch
  kAdmin,     // everything, tokens included
};
std::string_view to_string(Role role);
std::optional<Role> role_from(std::string_view text);

// Whether the pattern matches this name: "shop" matches only itself, "shop-*" everything that starts with
// "shop-".
bool name_matches(std::string_view pattern, std::string_view name);

// An authenticated caller. A plain value.
struct Principal {
  std::string name;  // "token ops-1", "certificate spiffe://…", "loopback"
  std::vector<Role> roles;
  std::vector<std::string> tenants;  // patterns; empty: all tenants

  // Every caller on a listener that only this machine can reach.
  static Principal loopback() { return {"loopback", {Role::kAdmin}, {}}; }

  bool has(Role role) const;  // a role may include others
  bool sees_tenant(std::string_view tenant) const;
  // kPermissionDenied, with a sentence that names what is missing. An empty tenant stands for all tenants;
  // only a principal that is not limited to some tenants has access to that.
  Result<void> may(Role role, std::string_view tenant) const;
  // The same for what belongs to no tenant.
  Result<void> may(Role role) const;
  // Whether they can create tokens.
  bool can_administer() const { return may(Role::kAdmin, "").has_value(); }
};

}  // namespace sluice::control

#include "control/access/principal.h"

#include <algorithm>
#include <array>

#include "base/try.h"

namespace sluice::control {
namespace {

constexpr std::array<std::string_view, 5> kRoleNames = {"check", "read", "write", "operator", "admin"};

bool includes(Role given, Role wanted) {
  if (given == wanted || given == Role::kAdmin) return true;
  return wanted == Role::kRead && (given == Role::kWrite || given == Role::kOperator);
}

}  // namespace

std::string_view to_string(Role role) { return kRoleNames[static_cast<std::size_t>(role)]; }

std::optional<Role> role_from(std::string_view text) {
  const auto found = std::ranges::find(kRoleNames, text);
  if (found == kRoleNames.end()) return std::nullopt;
  return static_cast<Role>(found - kRoleNames.begin());
}

bool name_matches(std::string_view pattern, std::string_view name) {
  if (!pattern.ends_with('*')) return pattern == name;
  return name.starts_with(pattern.substr(0, pattern.size() - 1));
}

bool Principal::has(Role role) const {
  return std::ranges::any_of(roles, [role](Role given) { return includes(given, role); });
}

bool Principal::sees_tenant(std::string_view tenant) const {
  if (tenants.empty()) return true;
  return !tenant.empty() && std::ranges::any_of(tenants, [tenant](const std::string& pattern) {
    return name_matches(pattern, tenant);
  });
}

Result<void> Principal::may(Role role) const {
  if (has(role)) return {};
  return std::unexpected(Error{ErrorCode::kPermissionDenied,
                               name + " lacks the role \"" + std::string(to_string(role)) + '"', ""});
}

Result<void> Principal::may(Role role, std::string_view tenant) const {
  SLUICE_TRY(may(role));
  if (sees_tenant(tenant)) return {};
  return std::unexpected(
      Error{ErrorCode::kPermissionDenied,
            name + (tenant.empty() ? " is limited to some tenants, and this requires access to all tenants"
                                   : " has no access to tenant \"" + std::string(tenant) + '"'),
            ""});
}

}  // namespace sluice::control

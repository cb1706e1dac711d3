#include "doors/check_access.h"

namespace sluice::doors {
namespace {

using control::Principal;
using control::Role;

Result<void> may_imply(const Principal& principal, Role role, DoorContext& context, CheckRequest& check) {
  const std::string_view implied = check.own_policy ? "" : context.limiter.tenant_of(check);
  if (implied.empty() || !principal.may(role, implied)) return principal.may(role, "");
  if (!principal.tenants.empty()) check.tenant = context.implied_tenants.emplace_back(implied);
  return {};
}

}  // namespace

Result<Principal> recognise(DoorContext& context, const net::Peer& peer, std::string_view authorization,
                            Role role, std::span<CheckRequest> checks) {
  auto principal = context.access->who(peer, authorization);
  if (!principal) return principal;
  context.implied_tenants.clear();
  for (CheckRequest& check : checks) {
    const std::string_view tenant = Dimensions(check).tenant();
    auto may = tenant.empty() ? may_imply(*principal, role, context, check) : principal->may(role, tenant);
    if (!may) return std::unexpected(std::move(may.error()));
  }
  return principal;
}

}  // namespace sluice::doors

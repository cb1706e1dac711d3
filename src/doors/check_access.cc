#include "doors/check_access.h"

namespace sluice::doors {

Result<control::Principal> recognise(const DoorOptions& options, const net::Peer& peer,
                                     std::string_view authorization, control::Role role,
                                     std::span<const CheckRequest> checks) {
  auto principal = options.access->who(peer, authorization);
  if (!principal) return principal;
  for (const CheckRequest& check : checks)
    if (auto may = principal->may(role, Dimensions(check).tenant()); !may)
      return std::unexpected(std::move(may.error()));
  return principal;
}

}  // namespace sluice::doors

#include "doors/check_access.h"

namespace sluice::doors {

Result<void> recognise(const DoorOptions& options, std::string_view authorization, control::Role role,
                       std::span<const CheckRequest> checks) {
  const auto principal = options.access->who(authorization);
  if (!principal) return std::unexpected(principal.error());
  for (const CheckRequest& check : checks)
    if (auto may = principal->may(role, Dimensions(check).tenant()); !may) return may;
  return {};
}

}  // namespace sluice::doors

#pragma once

#include <string_view>

#include "base/clock.h"
#include "control/access/identities.h"
#include "control/access/principal.h"
#include "control/access/token_registry.h"
#include "net/socket/peer.h"

namespace sluice::control {

// Authenticates callers. Thread-safe.
class Access {
 public:
  // identities: null if certificates identify no one. REQUIRES: all outlive this object.
  Access(const TokenRegistry& tokens, const Clock& clock, const IdentityRegistry* identities = nullptr)
      : tokens_(tokens), clock_(clock), identities_(identities) {}

  // Identifies the caller by the `Authorization` header; without one, by the names in the peer's certificate.
  // With neither, a trusted peer may do everything. kUnauthenticated: the token is missing, unknown or
  // expired (the error does not say which of the last two), or no identity matches the certificate.
  Result<Principal> who(const net::Peer& peer, std::string_view authorization) const;

 private:
  const TokenRegistry& tokens_;
  const Clock& clock_;
  const IdentityRegistry* const identities_;
};

}  // namespace sluice::control

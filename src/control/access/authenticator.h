#pragma once

#include <optional>
#include <string_view>

#include "base/clock.h"
#include "base/published.h"
#include "control/access/identities.h"
#include "control/access/principal.h"
#include "control/access/token_registry.h"
#include "net/socket/peer.h"

namespace sluice::control {

// The callers that can be authenticated: by a token, or by the names in a certificate. Thread-safe. REQUIRES:
// all outlive this object.
struct KnownCallers {
  KnownCallers(const TokenRegistry& token_registry, const Clock& wall_clock,
               const IdentityRegistry* identity_registry = nullptr)
      : tokens(token_registry), clock(wall_clock), identities(identity_registry) {}

  const TokenRegistry& tokens;
  const Clock& clock;
  const IdentityRegistry* const identities;  // null: certificates identify no one
};

// Authenticates callers, without a lock. Belongs to one thread: give each its own. REQUIRES: `known`
// outlives this object.
class Authenticator {
 public:
  explicit Authenticator(const KnownCallers& known);

  // Identifies the caller by the `Authorization` header; without one, by the names in the peer's certificate.
  // With neither, a trusted peer may do everything. kUnauthenticated: the token is missing, unknown or
  // expired (the error does not say which of the last two), or no identity matches the certificate.
  Result<Principal> who(const net::Peer& peer, std::string_view authorization);

 private:
  const Clock& clock_;
  PublishedReader<Tokens> tokens_;
  std::optional<PublishedReader<Identities>> identities_;
};

}  // namespace sluice::control

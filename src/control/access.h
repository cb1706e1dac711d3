#pragma once

#include <string_view>

#include "base/clock.h"
#include "control/identities.h"
#include "control/principal.h"
#include "control/token_board.h"
#include "net/peer.h"

namespace sluice::control {

// Tells who a caller is. Thread-safe.
class Access {
 public:
  // identities: null, certificates name nobody. All outlive this.
  Access(const TokenBoard& tokens, const Clock& clock, const IdentityBoard* identities = nullptr)
      : tokens_(tokens), clock_(clock), identities_(identities) {}

  // By the header `Authorization`; without one, by the names of the peer's certificate; by neither, a trusted
  // peer may do everything. kUnauthenticated: a token is missing, unknown or expired (which of the last two
  // it is, is not told), or no identity is for the certificate.
  Result<Principal> who(const net::Peer& peer, std::string_view authorization) const;

 private:
  const TokenBoard& tokens_;
  const Clock& clock_;
  const IdentityBoard* const identities_;
};

}  // namespace sluice::control

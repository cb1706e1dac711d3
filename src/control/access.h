#pragma once

#include <string_view>

#include "base/clock.h"
#include "control/principal.h"
#include "control/token_board.h"
#include "net/peer.h"

namespace sluice::control {

// Tells who a caller is. Thread-safe.
class Access {
 public:
  Access(const TokenBoard& tokens, const Clock& clock) : tokens_(tokens), clock_(clock) {}

  // By the header `Authorization`; without one, a trusted peer may do everything. kUnauthenticated: a token
  // is missing, unknown or expired; which of the last two it is, is not told.
  Result<Principal> who(const net::Peer& peer, std::string_view authorization) const;

 private:
  const TokenBoard& tokens_;
  const Clock& clock_;
};

}  // namespace sluice::control

#pragma once

#include <string_view>

#include "base/clock.h"
#include "control/principal.h"
#include "control/token_board.h"

namespace sluice::control {

// Tells who a caller is. Thread-safe.
class Access {
 public:
  // `trusts_all`: the listener is reached from this machine only, and nobody asked for tokens; then a caller
  // without one may do everything.
  Access(const TokenBoard& tokens, const Clock& clock, bool trusts_all)
      : tokens_(tokens), clock_(clock), trusts_all_(trusts_all) {}

  // By the header `Authorization`. kUnauthenticated: a token is missing, unknown or expired; which of the
  // last two it is, is not told.
  Result<Principal> who(std::string_view authorization) const;

 private:
  const TokenBoard& tokens_;
  const Clock& clock_;
  const bool trusts_all_;
};

}  // namespace sluice::control

#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "base/clock.h"
#include "control/access/identities.h"
#include "control/access/token_registry.h"
#include "control/ledger_follower.h"

namespace sluice::control {

// Whether a bootstrap token is needed: no existing credential can create tokens, so only someone who reads
// the server's output could. Expired tokens do not count. If a certificate can administer, a bootstrap token
// is needed only for a database without any token.
bool needs_first_token(const TokenRegistry& tokens, const IdentityRegistry& identities, std::int64_t now_us);

// Creates the token from which all others can be created. It has the role admin and is named "bootstrap" or,
// if that name is taken, "bootstrap-2" and so on. Nothing if it is not needed (any more) or the database does
// not answer: of several nodes that start together, one creates it.
std::optional<std::string> make_first_token(LedgerFollower& follower, const std::function<bool()>& is_needed,
                                            const Clock& clock);

// The same with the token in this file (bootstrap_file.h), or a new one that is written there. Returns a
// sentence that says where it is. A token that the operator has put there becomes "bootstrap" or nothing: if
// that name was ever taken, it may be a token that was revoked. kFailedPrecondition says so;
// kInvalidArgument: the file cannot be used. Otherwise as above.
Result<std::optional<std::string>> make_first_token_in(const std::string& path, LedgerFollower& follower,
                                                       const std::function<bool()>& is_needed,
                                                       const Clock& clock);

}  // namespace sluice::control

#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "base/clock.h"
#include "control/identities.h"
#include "control/registry.h"
#include "control/token_board.h"

namespace sluice::control {

// Whether nobody can make tokens but who reads what a server prints. Expired tokens open nothing. Where
// certificates can administer, only a database without any token gets one.
bool needs_first_token(const TokenBoard& tokens, const IdentityBoard& identities, std::int64_t now_us);

// Makes the token that all others can be made with, with the role admin, called "bootstrap" or, if there is
// such a token already, "bootstrap-2" and so on. Nothing if it is not needed (any more), or the database does
// not answer: of several nodes that start together, one gets it.
std::optional<std::string> make_first_token(Registry& registry, const std::function<bool()>& is_needed,
                                            const Clock& clock);

}  // namespace sluice::control

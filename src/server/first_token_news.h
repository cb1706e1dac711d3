#pragma once

#include <functional>
#include <string>

#include "base/clock.h"
#include "control/ledger_follower.h"

namespace sluice::server {

// Makes the first token, if one is needed, and tells the operator: on stdout, where they look, and not in the
// log, which is stored. With `file` it is only there. `told` keeps the last problem with that, which is
// logged once. Call it every second, on the control plane's thread.
void make_token_if_needed(const std::string& file, const std::function<bool()>& is_needed, const Clock& clock,
                          control::LedgerFollower& follower, std::string& told);

}  // namespace sluice::server

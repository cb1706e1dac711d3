#pragma once

#include <string>
#include <string_view>

#include "base/error.h"
#include "control/access/principal.h"
#include "policy/snapshot/snapshot.h"

// GetCurrentConfig of ratelimiter.v1.RateLimiterService, the multi-rate API.
namespace sluice::admin {

// Whether the bytes are a ConfigRequest, which has no fields.
bool is_config_request(std::string_view message);

// The ConfigResponse for this caller, without entries of domains that they may not see. kFailedPrecondition:
// it is larger than a client would accept. The cost grows with the number of policies, so call it on the
// control plane's thread.
Result<std::string> write_current_config(const Snapshot& snapshot, const control::Principal& principal);

}  // namespace sluice::admin

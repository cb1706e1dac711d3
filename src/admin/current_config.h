#pragma once

#include <string>
#include <string_view>

#include "base/error.h"
#include "control/principal.h"
#include "policy/snapshot.h"

// GetCurrentConfig of ratelimiter.v1.RateLimiterService, the multi-rate API.
namespace sluice::admin {

// Whether the bytes are a ConfigRequest, which has no fields.
bool is_config_request(std::string_view message);

// The ConfigResponse for this caller: entries of domains that they may not see are left out.
// kFailedPrecondition: it is longer than a client would take. Costs as much as there are policies; meant for
// the control plane's thread.
Result<std::string> write_current_config(const Snapshot& snapshot, const control::Principal& principal);

}  // namespace sluice::admin

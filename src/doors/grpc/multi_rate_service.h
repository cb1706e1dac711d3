#pragma once

#include <memory>

#include "doors/door_context.h"
#include "doors/grpc/grpc_call.h"
#include "net/http/http_api.h"
#include "policy/snapshot/snapshot_publisher.h"

// Multi-rate leaky buckets, ratelimiter.v1.RateLimiterService. api/ratelimiter/v1/ratelimiter.proto describes
// its messages; policy/multi_rate/multi_rate_entry.h says which policy applies to a key. The admin API
// answers GetCurrentConfig.
namespace sluice::doors {

// The policy for keys that no entry matches: a burst of 100, 10 per second. No document can have its id.
std::shared_ptr<const CompiledPolicy> make_multi_rate_default(const SnapshotPublisher& snapshots,
                                                              ParamsTable& params);

}  // namespace sluice::doors

#pragma once

#include <memory>

#include "doors/door_context.h"
#include "doors/grpc_call.h"
#include "net/http_api.h"
#include "policy/repository.h"

// Multi-rate leaky buckets, ratelimiter.v1.RateLimiterService; api/ratelimiter/v1/ratelimiter.proto describes
// its messages, policy/mr_entry.h which policy a key comes under. GetCurrentConfig is the admin API's.
namespace sluice::doors {

// What counts where no entry does: 100 at once, 10 a second. Its name is none that a document could have.
std::shared_ptr<const CompiledPolicy> make_mr_default(const PolicyBoard& board, ParamsTable& params);

net::GrpcStatus mr_consume_and_check_limit(DoorContext& context, const GrpcCall& call);
net::GrpcStatus mr_get_bucket_status(DoorContext& context, const GrpcCall& call);

}  // namespace sluice::doors

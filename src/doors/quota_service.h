#pragma once

#include "doors/door_context.h"
#include "doors/grpc_call.h"
#include "net/http_api.h"

// Users, addresses and API keys on endpoints: sluice.compat.v1.Quota; api/sluice/compat/v1/quota.proto
// describes its messages.
namespace sluice::doors {

net::GrpcStatus quota_check_rate_limit(DoorContext& context, const GrpcCall& call);
net::GrpcStatus quota_get_remaining(DoorContext& context, const GrpcCall& call);
net::GrpcStatus quota_reset_limit(DoorContext& context, const GrpcCall& call);

}  // namespace sluice::doors

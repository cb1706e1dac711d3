#pragma once

#include "doors/door_context.h"
#include "doors/grpc/grpc_call.h"
#include "net/http/http_api.h"

// sluice.compat.v1.Quota: limits on users, addresses and API keys per endpoint.
// api/sluice/compat/v1/quota.proto describes its messages.
namespace sluice::doors {

net::GrpcStatus quota_check_rate_limit(DoorContext& context, const GrpcCall& call);
net::GrpcStatus quota_get_remaining(DoorContext& context, const GrpcCall& call);
net::GrpcStatus quota_reset_limit(DoorContext& context, const GrpcCall& call);

}  // namespace sluice::doors

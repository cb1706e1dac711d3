#pragma once

#include <string>
#include <string_view>

#include "doors/door_context.h"
#include "doors/grpc/grpc_call.h"
#include "net/http/http_api.h"

// The native gRPC service, sluice.v1.RateLimiter; api/sluice/v1/rate_limiter.proto describes its messages.
// Each function reads a request's bytes, asks the engine and appends the response's bytes.
namespace sluice::doors {

net::GrpcStatus grpc_check(DoorContext& context, const GrpcCall& call);
net::GrpcStatus grpc_check_batch(DoorContext& context, const GrpcCall& call);
net::GrpcStatus grpc_get_usage(DoorContext& context, const GrpcCall& call);
// Records in the audit log who reset what and why.
net::GrpcStatus grpc_reset_key(DoorContext& context, const GrpcCall& call);

}  // namespace sluice::doors

#pragma once

#include <string>
#include <string_view>

#include "doors/door_context.h"
#include "net/http_api.h"

// The native gRPC service, sluice.v1.RateLimiter; api/sluice/v1/rate_limiter.proto describes its messages.
// Each function reads a request's bytes, asks the engine and appends the response's bytes.
namespace sluice::doors {

net::GrpcStatus grpc_check(DoorContext& context, std::string_view message, std::string& reply);
net::GrpcStatus grpc_check_batch(DoorContext& context, std::string_view message, std::string& reply);
net::GrpcStatus grpc_get_usage(DoorContext& context, std::string_view message, std::string& reply);
// Tells the audit who reset what and why.
net::GrpcStatus grpc_reset_key(DoorContext& context, std::string_view peer_address, std::string_view message,
                               std::string& reply);

}  // namespace sluice::doors

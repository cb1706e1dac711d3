#pragma once

#include "doors/door_context.h"
#include "doors/grpc/grpc_call.h"
#include "net/http/http_api.h"

// sluice.compat.v1.Allow: one key, one policy. api/sluice/compat/v1/allow.proto describes its messages.
namespace sluice::doors {

net::GrpcStatus allow(DoorContext& context, const GrpcCall& call);
net::GrpcStatus allow_n(DoorContext& context, const GrpcCall& call);
net::GrpcStatus allow_reset(DoorContext& context, const GrpcCall& call);

}  // namespace sluice::doors

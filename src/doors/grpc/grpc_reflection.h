#pragma once

#include <memory>
#include <string_view>

#include "net/http/http_api.h"

namespace sluice::doors {

// The standard service grpc.reflection.{v1,v1alpha}.ServerReflection: lists services and messages for tools
// like grpcurl. Both versions have the same messages, so one handler serves both.
std::unique_ptr<net::GrpcStreamHandler> open_reflection(net::GrpcStream& stream);

}  // namespace sluice::doors

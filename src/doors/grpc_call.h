#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "base/error.h"
#include "net/http_api.h"

namespace sluice::doors {

using GrpcDefer = std::function<net::Application::GrpcLater()>;

// A unary call and its answer, as net::Application has them.
struct GrpcCall {
  const net::GrpcContext& context;
  std::string_view message;
  std::string& reply;
  const GrpcDefer& defer;
};

inline Error malformed_message() {
  return {ErrorCode::kInvalidArgument, "the message is not the protobuf that this method expects", ""};
}

}  // namespace sluice::doors

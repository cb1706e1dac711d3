#pragma once

#include <string_view>

#include "base/error.h"
#include "net/http/http_api.h"

namespace sluice::doors {

// A unary call, and how to answer it. Valid only while it is handled.
struct GrpcCall {
  const net::GrpcContext& context;
  std::string_view message;
  net::GrpcReply& reply;
};

// A message that cannot be deserialized is INTERNAL, as in every gRPC runtime. INVALID_ARGUMENT is for a
// message that can be read but has an invalid value.
inline Error malformed_message() {
  return {ErrorCode::kInternal, "the message is not the protobuf that this method expects", ""};
}

}  // namespace sluice::doors

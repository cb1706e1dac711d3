#pragma once

#include <string>

#include "base/error.h"
#include "net/http_api.h"

namespace sluice::doors {

// A serialized google.rpc.Status that says an error in the types that gRPC clients know: ErrorInfo, always
// (`reason` is that of problem+json in capital letters, its domain "sluice"); BadRequest, if a field is to
// blame; RetryInfo, if it is worth trying again.
std::string error_details(net::GrpcCode code, std::string_view reason, const Error& error);

}  // namespace sluice::doors

#pragma once

#include <string>

#include "base/error.h"
#include "net/http/http_api.h"

namespace sluice::doors {

// A serialized google.rpc.Status that describes an error in the standard detail types of gRPC: always
// ErrorInfo (`reason` is the code of problem+json in capital letters, the domain is "sluice"); BadRequest if
// a field is to blame; RetryInfo if a retry may succeed.
std::string error_details(net::GrpcCode code, std::string_view reason, const Error& error);

}  // namespace sluice::doors

#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/error.h"
#include "engine/decision/decision.h"
#include "net/http/http_api.h"

// Errors on the wire: application/problem+json (RFC 9457) over HTTP, a status over gRPC.
//
//   {"type":"about:blank","title":"Bad Request","status":400,"detail":"tokens must be an integer …",
//    "code":"invalid_argument","field":"tokens"}
namespace sluice::doors {

// An error of the engine or of parsing the request. kUnavailable and kOverloaded also get a Retry-After.
void write_problem(const Error& error, net::HttpResponse& response);

// The same object as part of another: {"type":"about:blank", …}.
void append_problem(const Error& error, std::string& out);

// An error of HTTP itself: 404, 405, … The detail may quote any bytes of the request.
void write_problem(int status, std::string_view detail, net::HttpResponse& response);

// A denial, for doors that answer it as an error. Names the limits that had no room. A decision made without
// the store is temporary-reduced-capacity, all others are quota-exceeded.
void write_denial(int status, const Decision& decision, net::HttpResponse& response);

net::GrpcStatus grpc_status(const Error& error);
void write_problem(const Error& error, net::GrpcResponse& response);

}  // namespace sluice::doors

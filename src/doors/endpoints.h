#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "doors/access/caller.h"
#include "doors/handlers.h"
#include "doors/http/http_path.h"
#include "net/http/http_api.h"

// Every endpoint of the doors, stated once: each HTTP path and each gRPC method is one line of the tables in
// endpoints.cc. To add an endpoint, write its handler in its own file, declare it in handlers.h, and add its
// line to the table.
namespace sluice::doors {

// Which ports serve an endpoint when the admin API has its own port.
enum class Side : std::uint8_t { kChecks, kAdmin, kBoth };
bool is_served(net::Port port, Side side);

// Which requests from web pages are refused, because a page of another site could use up a visitor's limits.
enum class OtherSites : std::uint8_t {
  kServed,             // charges nothing, or the handler itself refuses
  kRefused,            // see is_sent_by_another_site()
  kRefusedUnlessProxy  // unless a proxy passes on its client's request
};

struct HttpEndpoint {
  std::string_view path;
  std::string_view methods;  // as in an Allow header: "GET, HEAD"; empty: any
  Side side;
  OtherSites other_sites;
  Access access;
  HttpHandler* handle;

  bool takes(std::string_view method) const {
    return methods.empty() || method == methods ||
           (methods == "GET, HEAD" && (method == "GET" || method == "HEAD"));
  }
};

// A unary method or a streaming one: exactly one of the handlers is set.
struct GrpcMethod {
  constexpr GrpcMethod(std::string_view at, Side served, Access allowed, GrpcHandler& handler)
      : path(at), side(served), access(allowed), unary(handler) {}
  constexpr GrpcMethod(std::string_view at, Side served, Access allowed, StreamHandler& handler)
      : path(at), side(served), access(allowed), stream(handler) {}

  std::string_view path;
  Side side;
  Access access;
  GrpcHandler* unary = nullptr;
  StreamHandler* stream = nullptr;
};

// Null if no door has this path.
const HttpEndpoint* find_http_endpoint(std::string_view path);
const GrpcMethod* find_grpc_method(std::string_view path);

// All of them. The admin API has its own list of HTTP paths.
std::span<const HttpEndpoint> http_endpoints();
std::span<const GrpcMethod> grpc_methods();
std::vector<HttpPath> http_paths();

}  // namespace sluice::doors

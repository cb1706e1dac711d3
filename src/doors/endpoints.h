#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "doors/admin_seam.h"
#include "doors/door_context.h"
#include "doors/grpc/grpc_call.h"
#include "doors/grpc/grpc_health.h"
#include "doors/http/http_path.h"
#include "net/http/http_api.h"

// Every endpoint of the doors, stated once: each HTTP path and each gRPC method is one line of the tables in
// endpoints.cc. To add an endpoint, write its handler in its own file and add its line there.
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
  Side side = Side::kBoth;
  OtherSites other_sites = OtherSites::kServed;
  void (*handle)(DoorContext& context, const net::HttpRequest& request, net::HttpResponse& response,
                 const std::function<net::Application::HttpLater()>& defer) = nullptr;

  bool takes(std::string_view method) const {
    return methods.empty() || method == methods ||
           (methods == "GET, HEAD" && (method == "GET" || method == "HEAD"));
  }
};

// Null if no door answers there.
const HttpEndpoint* find_http_endpoint(std::string_view path);

// Every path that the doors answer themselves; the admin API has its own list.
std::vector<HttpPath> http_paths();

// What the handlers work with. One per loop, on its thread.
struct DoorParts {
  DoorContext& context;
  Health& health;
  AdminSeam* admin = nullptr;  // null if there is no admin API
};

// Exactly one of `unary` and `stream` is set.
struct GrpcMethod {
  std::string_view path;
  Side side = Side::kBoth;
  bool is_admins = false;  // answered by the admin API
  net::GrpcStatus (*unary)(DoorParts& parts, const GrpcCall& call) = nullptr;
  std::unique_ptr<net::GrpcStreamHandler> (*stream)(DoorParts& parts, const net::GrpcContext& context,
                                                    net::GrpcStream& stream) = nullptr;
};

// Null if there is no such method.
const GrpcMethod* find_grpc_method(std::string_view path);

}  // namespace sluice::doors

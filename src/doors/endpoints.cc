#include "doors/endpoints.h"

#include <array>

#include "doors/envoy/envoy_rls.h"
#include "doors/grpc/allow_service.h"
#include "doors/grpc/grpc_rate_limiter.h"
#include "doors/grpc/grpc_reflection.h"
#include "doors/grpc/multi_rate_service.h"
#include "doors/grpc/quota_service.h"
#include "doors/http/http_authorize.h"
#include "doors/http/http_check.h"
#include "doors/http/http_usage.h"
#include "doors/http/openapi.h"
#include "doors/http/path_table.h"
#include "doors/ops.h"

namespace sluice::doors {
namespace {

using Defer = std::function<net::Application::HttpLater()>;
using net::GrpcContext;
using net::GrpcStream;
using net::HttpRequest;
using net::HttpResponse;

constexpr std::string_view kRead = "GET, HEAD";

void healthz(DoorContext&, const HttpRequest&, HttpResponse& response, const Defer&) {
  http_healthz(response);
}

void readyz(DoorContext& context, const HttpRequest& request, HttpResponse& response, const Defer&) {
  http_readyz(context, request, response);
}

void healthcheck(DoorContext& context, const HttpRequest&, HttpResponse& response, const Defer&) {
  http_healthcheck(context.options, response);
}

void metrics(DoorContext& context, const HttpRequest& request, HttpResponse& response, const Defer&) {
  http_metrics(context, request, response);
}

void openapi(DoorContext&, const HttpRequest& request, HttpResponse& response, const Defer&) {
  http_openapi(request, response);
}

// Usage is on both sides: callers look at their own usage, operators look before they reset.
constexpr std::array kHttpEndpoints = {
    HttpEndpoint{"/v1/ratelimit/check", "POST", Side::kChecks, OtherSites::kRefused, http_check},
    HttpEndpoint{"/v1/ratelimit/check-batch", "POST", Side::kChecks, OtherSites::kRefused, http_check_batch},
    HttpEndpoint{"/v1/authorize", "", Side::kChecks, OtherSites::kRefusedUnlessProxy, http_authorize},
    HttpEndpoint{"/json", "POST", Side::kChecks, OtherSites::kRefused, http_envoy_json},
    HttpEndpoint{"/v1/usage", kRead, Side::kBoth, OtherSites::kServed, http_usage},
    HttpEndpoint{"/v1/reset", "POST", Side::kAdmin, OtherSites::kServed, http_reset},
    HttpEndpoint{"/healthz", kRead, Side::kBoth, OtherSites::kServed, healthz},
    HttpEndpoint{"/readyz", kRead, Side::kBoth, OtherSites::kServed, readyz},
    HttpEndpoint{"/healthcheck", kRead, Side::kBoth, OtherSites::kServed, healthcheck},
    HttpEndpoint{"/metrics", kRead, Side::kBoth, OtherSites::kServed, metrics},
    HttpEndpoint{"/openapi.yaml", kRead, Side::kBoth, OtherSites::kServed, openapi},
};

// Adapters for a method of a door, a method of the admin API, and streams.
template <net::GrpcStatus (*answer)(DoorContext&, const GrpcCall&)>
constexpr GrpcMethod door(std::string_view path, Side side) {
  return {path, side, false,
          [](DoorParts& parts, const GrpcCall& call) { return answer(parts.context, call); }, nullptr};
}

template <net::GrpcStatus (AdminSeam::*answer)(const GrpcCall&)>
constexpr GrpcMethod admin(std::string_view path, Side side) {
  return {path, side, true,
          [](DoorParts& parts, const GrpcCall& call) { return (parts.admin->*answer)(call); }, nullptr};
}

net::GrpcStatus check_health(DoorParts& parts, const GrpcCall& call) {
  return parts.health.check(call.message, call.reply);
}

std::unique_ptr<net::GrpcStreamHandler> watch_health(DoorParts& parts, const GrpcContext&,
                                                     GrpcStream& stream) {
  return parts.health.watch(stream);
}

std::unique_ptr<net::GrpcStreamHandler> list_policies(DoorParts& parts, const GrpcContext& context,
                                                      GrpcStream& stream) {
  return parts.admin->list_policies(context, stream);
}

std::unique_ptr<net::GrpcStreamHandler> reflect(DoorParts&, const GrpcContext&, GrpcStream& stream) {
  return open_reflection(stream);
}

constexpr std::array kGrpcMethods = {
    door<grpc_check>("/sluice.v1.RateLimiter/CheckAndIncrement", Side::kChecks),
    door<grpc_check_batch>("/sluice.v1.RateLimiter/CheckBatch", Side::kChecks),
    door<grpc_get_usage>("/sluice.v1.RateLimiter/GetUsage", Side::kBoth),
    door<grpc_reset_key>("/sluice.v1.RateLimiter/ResetKey", Side::kAdmin),
    admin<&AdminSeam::configure_policy>("/sluice.v1.RateLimiter/ConfigurePolicy", Side::kAdmin),
    GrpcMethod{"/sluice.v1.RateLimiter/ListPolicies", Side::kAdmin, true, nullptr, list_policies},
    door<grpc_should_rate_limit>("/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit",
                                 Side::kChecks),
    door<multi_rate_consume_and_check_limit>("/ratelimiter.v1.RateLimiterService/ConsumeAndCheckLimit",
                                             Side::kChecks),
    admin<&AdminSeam::get_current_config>("/ratelimiter.v1.RateLimiterService/GetCurrentConfig", Side::kBoth),
    door<multi_rate_get_bucket_status>("/ratelimiter.v1.RateLimiterService/GetBucketStatus", Side::kBoth),
    door<allow>("/sluice.compat.v1.Allow/Allow", Side::kChecks),
    door<allow_n>("/sluice.compat.v1.Allow/AllowN", Side::kChecks),
    door<allow_reset>("/sluice.compat.v1.Allow/Reset", Side::kAdmin),
    door<quota_check_rate_limit>("/sluice.compat.v1.Quota/CheckRateLimit", Side::kChecks),
    door<quota_get_remaining>("/sluice.compat.v1.Quota/GetRemainingQuota", Side::kBoth),
    door<quota_reset_limit>("/sluice.compat.v1.Quota/ResetLimit", Side::kAdmin),
    GrpcMethod{"/grpc.health.v1.Health/Check", Side::kBoth, false, check_health, nullptr},
    GrpcMethod{"/grpc.health.v1.Health/Watch", Side::kBoth, false, nullptr, watch_health},
    GrpcMethod{"/grpc.reflection.v1.ServerReflection/ServerReflectionInfo", Side::kBoth, false, nullptr,
               reflect},
    GrpcMethod{"/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo", Side::kBoth, false, nullptr,
               reflect},
};

constexpr PathTable kHttpTable(kHttpEndpoints);
constexpr PathTable kGrpcTable(kGrpcMethods);

}  // namespace

bool is_served(net::Port port, Side side) {
  if (port == net::Port::kAll || side == Side::kBoth) return true;
  return (port == net::Port::kAdmin) == (side == Side::kAdmin);
}

const HttpEndpoint* find_http_endpoint(std::string_view path) { return kHttpTable.find(path); }

std::vector<HttpPath> http_paths() {
  std::vector<HttpPath> paths;
  for (const HttpEndpoint& endpoint : kHttpEndpoints) paths.push_back({endpoint.path, endpoint.methods});
  return paths;
}

const GrpcMethod* find_grpc_method(std::string_view path) { return kGrpcTable.find(path); }

}  // namespace sluice::doors

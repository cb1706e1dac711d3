#include "doors/endpoints.h"

#include <array>

#include "doors/http/path_table.h"

namespace sluice::doors {
namespace {

constexpr std::string_view kGet = "GET, HEAD";

// Usage is on both sides: callers look at their own usage, operators look before they reset.
// clang-format off
constexpr std::array kHttpEndpoints = {
    HttpEndpoint{"/v1/ratelimit/check", "POST", Side::kChecks, OtherSites::kRefused, Access::kCheck, http_check},
    HttpEndpoint{"/v1/ratelimit/check-batch", "POST", Side::kChecks, OtherSites::kRefused, Access::kCheck, http_check_batch},
    HttpEndpoint{"/v1/authorize", "", Side::kChecks, OtherSites::kRefusedUnlessProxy, Access::kCheck, http_authorize},
    HttpEndpoint{"/json", "POST", Side::kChecks, OtherSites::kRefused, Access::kCheck, http_envoy_json},
    HttpEndpoint{"/v1/lease", "POST", Side::kChecks, OtherSites::kRefused, Access::kCheck, http_lease},
    HttpEndpoint{"/v1/lease/return", "POST", Side::kChecks, OtherSites::kRefused, Access::kCheck, http_return_lease},
    HttpEndpoint{"/v1/leases", kGet, Side::kBoth, OtherSites::kServed, Access::kReadKeys, http_leases},
    HttpEndpoint{"/v1/hotkeys", kGet, Side::kBoth, OtherSites::kServed, Access::kReadKeys, http_hot_keys},
    HttpEndpoint{"/v1/decisions", kGet, Side::kBoth, OtherSites::kServed, Access::kReadKeys, http_decisions},
    HttpEndpoint{"/v1/nodes", kGet, Side::kAdmin, OtherSites::kServed, Access::kReadKeys, http_nodes},
    HttpEndpoint{"/v1/usage", kGet, Side::kBoth, OtherSites::kServed, Access::kRead, http_usage},
    HttpEndpoint{"/v1/reset", "POST", Side::kAdmin, OtherSites::kServed, Access::kOperator, http_reset},
    HttpEndpoint{"/healthz", kGet, Side::kBoth, OtherSites::kServed, Access::kPublic, http_healthz},
    HttpEndpoint{"/readyz", kGet, Side::kBoth, OtherSites::kServed, Access::kPublic, http_readyz},
    HttpEndpoint{"/healthcheck", kGet, Side::kBoth, OtherSites::kServed, Access::kPublic, http_healthcheck},
    HttpEndpoint{"/metrics", kGet, Side::kBoth, OtherSites::kServed, Access::kPublic, http_metrics},
    HttpEndpoint{"/openapi.yaml", kGet, Side::kBoth, OtherSites::kServed, Access::kPublic, http_openapi},
    HttpEndpoint{"/", kGet, Side::kAdmin, OtherSites::kServed, Access::kPublic, http_dashboard},
    HttpEndpoint{"/dashboard.js", kGet, Side::kAdmin, OtherSites::kServed, Access::kPublic, http_dashboard},
    HttpEndpoint{"/dashboard.css", kGet, Side::kAdmin, OtherSites::kServed, Access::kPublic, http_dashboard},
    HttpEndpoint{"/dashboard.svg", kGet, Side::kAdmin, OtherSites::kServed, Access::kPublic, http_dashboard},
    HttpEndpoint{"/v1/session", kGet, Side::kAdmin, OtherSites::kServed, Access::kPublic, http_session},
    HttpEndpoint{"/v1/login", "POST", Side::kAdmin, OtherSites::kServed, Access::kPublic, http_login},
    HttpEndpoint{"/v1/logout", "POST", Side::kAdmin, OtherSites::kServed, Access::kPublic, http_logout},
};

constexpr std::array kGrpcMethods = {
    GrpcMethod{"/sluice.v1.RateLimiter/CheckAndIncrement", Side::kChecks, Access::kCheck, grpc_check},
    GrpcMethod{"/sluice.v1.RateLimiter/CheckBatch", Side::kChecks, Access::kCheck, grpc_check_batch},
    GrpcMethod{"/sluice.v1.RateLimiter/Lease", Side::kChecks, Access::kCheck, grpc_lease},
    GrpcMethod{"/sluice.v1.RateLimiter/ReturnLease", Side::kChecks, Access::kCheck, grpc_return_lease},
    GrpcMethod{"/sluice.v1.RateLimiter/GetUsage", Side::kBoth, Access::kRead, grpc_get_usage},
    GrpcMethod{"/sluice.v1.RateLimiter/ResetKey", Side::kAdmin, Access::kOperator, grpc_reset_key},
    GrpcMethod{"/sluice.v1.RateLimiter/ConfigurePolicy", Side::kAdmin, Access::kAdminApi, grpc_configure_policy},
    GrpcMethod{"/sluice.v1.RateLimiter/ListPolicies", Side::kAdmin, Access::kAdminApi, grpc_list_policies},
    GrpcMethod{"/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit", Side::kChecks, Access::kCheck, grpc_should_rate_limit},
    GrpcMethod{"/ratelimiter.v1.RateLimiterService/ConsumeAndCheckLimit", Side::kChecks, Access::kCheck, multi_rate_consume_and_check_limit},
    GrpcMethod{"/ratelimiter.v1.RateLimiterService/GetCurrentConfig", Side::kAdmin, Access::kAdminApi, grpc_get_current_config},
    GrpcMethod{"/ratelimiter.v1.RateLimiterService/GetBucketStatus", Side::kBoth, Access::kRead, multi_rate_get_bucket_status},
    GrpcMethod{"/sluice.compat.v1.Allow/Allow", Side::kChecks, Access::kCheck, allow},
    GrpcMethod{"/sluice.compat.v1.Allow/AllowN", Side::kChecks, Access::kCheck, allow_n},
    GrpcMethod{"/sluice.compat.v1.Allow/Reset", Side::kAdmin, Access::kOperator, allow_reset},
    GrpcMethod{"/sluice.compat.v1.Quota/CheckRateLimit", Side::kChecks, Access::kCheck, quota_check_rate_limit},
    GrpcMethod{"/sluice.compat.v1.Quota/GetRemainingQuota", Side::kBoth, Access::kRead, quota_get_remaining},
    GrpcMethod{"/sluice.compat.v1.Quota/ResetLimit", Side::kAdmin, Access::kOperator, quota_reset_limit},
    GrpcMethod{"/grpc.health.v1.Health/Check", Side::kBoth, Access::kPublic, grpc_check_health},
    GrpcMethod{"/grpc.health.v1.Health/Watch", Side::kBoth, Access::kPublic, grpc_watch_health},
    GrpcMethod{"/grpc.reflection.v1.ServerReflection/ServerReflectionInfo", Side::kBoth, Access::kPublic, grpc_reflect},
    GrpcMethod{"/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo", Side::kBoth, Access::kPublic, grpc_reflect},
};
// clang-format on

constexpr PathTable kHttpTable(kHttpEndpoints);
constexpr PathTable kGrpcTable(kGrpcMethods);

}  // namespace

bool is_served(net::Port port, Side side) {
  if (port == net::Port::kAll || side == Side::kBoth) return true;
  return (port == net::Port::kAdmin) == (side == Side::kAdmin);
}

const HttpEndpoint* find_http_endpoint(std::string_view path) { return kHttpTable.find(path); }
const GrpcMethod* find_grpc_method(std::string_view path) { return kGrpcTable.find(path); }

std::span<const HttpEndpoint> http_endpoints() { return kHttpEndpoints; }
std::span<const GrpcMethod> grpc_methods() { return kGrpcMethods; }

std::vector<HttpPath> http_paths() {
  std::vector<HttpPath> paths;
  for (const HttpEndpoint& endpoint : kHttpEndpoints) paths.push_back({endpoint.path, endpoint.methods});
  return paths;
}

// The admin API lies above this folder. REQUIRES: there is one, see App::method_kind().

Result<void> grpc_configure_policy(DoorContext& context, const Caller&, const GrpcCall& call) {
  context.admin->configure_policy(call);
  return {};
}

Result<void> grpc_get_current_config(DoorContext& context, const Caller&, const GrpcCall& call) {
  context.admin->get_current_config(call);
  return {};
}

std::unique_ptr<net::GrpcStreamHandler> grpc_list_policies(DoorContext& context, const net::GrpcContext& call,
                                                           net::GrpcStream& stream) {
  return context.admin->list_policies(call, stream);
}

}  // namespace sluice::doors

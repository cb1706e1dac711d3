#include "doors/app.h"

#include <array>
#include <cassert>

#include "doors/allow_service.h"
#include "doors/envoy_rls.h"
#include "doors/grpc_rate_limiter.h"
#include "doors/grpc_reflection.h"
#include "doors/http_authorize.h"
#include "doors/http_check.h"
#include "doors/http_usage.h"
#include "doors/mr_service.h"
#include "doors/openapi.h"
#include "doors/ops.h"
#include "doors/other_site.h"
#include "doors/path_table.h"
#include "doors/problem.h"
#include "doors/quota_service.h"
#include "doors/redis_door.h"

namespace sluice::doors {
namespace {

enum class Route : std::uint8_t {
  kCheck,
  kCheckBatch,
  kAuthorize,
  kUsage,
  kReset,
  kHealthz,
  kReadyz,
  kHealthcheck,
  kMetrics,
  kOpenapi,
  kEnvoyJson
};

using RouteTable = PathTable<Route, 11>;
constexpr std::array<RouteTable::Entry, 11> kRouteList = {{{"/v1/ratelimit/check", Route::kCheck},
                                                           {"/v1/ratelimit/check-batch", Route::kCheckBatch},
                                                           {"/v1/authorize", Route::kAuthorize},
                                                           {"/v1/usage", Route::kUsage},
                                                           {"/v1/reset", Route::kReset},
                                                           {"/healthz", Route::kHealthz},
                                                           {"/readyz", Route::kReadyz},
                                                           {"/healthcheck", Route::kHealthcheck},
                                                           {"/metrics", Route::kMetrics},
                                                           {"/openapi.yaml", Route::kOpenapi},
                                                           {"/json", Route::kEnvoyJson}}};
constexpr RouteTable kRoutes(kRouteList);

enum class Method : std::uint8_t {
  kCheck,
  kCheckBatch,
  kGetUsage,
  kResetKey,
  kConfigurePolicy,
  kShouldRateLimit,
  kMrCheck,
  kMrConfig,
  kMrStatus,
  kAllow,
  kAllowN,
  kAllowReset,
  kQuotaCheck,
  kQuotaRemaining,
  kQuotaReset,
  kHealthCheck,
  kListPolicies,  // from here on, streams
  kHealthWatch,
  kReflection
};

constexpr PathTable<Method, 20> kMethods(
    {{{"/sluice.v1.RateLimiter/CheckAndIncrement", Method::kCheck},
      {"/sluice.v1.RateLimiter/CheckBatch", Method::kCheckBatch},
      {"/sluice.v1.RateLimiter/GetUsage", Method::kGetUsage},
      {"/sluice.v1.RateLimiter/ResetKey", Method::kResetKey},
      {"/sluice.v1.RateLimiter/ConfigurePolicy", Method::kConfigurePolicy},
      {"/sluice.v1.RateLimiter/ListPolicies", Method::kListPolicies},
      {"/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit", Method::kShouldRateLimit},
      {"/ratelimiter.v1.RateLimiterService/ConsumeAndCheckLimit", Method::kMrCheck},
      {"/ratelimiter.v1.RateLimiterService/GetCurrentConfig", Method::kMrConfig},
      {"/ratelimiter.v1.RateLimiterService/GetBucketStatus", Method::kMrStatus},
      {"/sluice.compat.v1.Allow/Allow", Method::kAllow},
      {"/sluice.compat.v1.Allow/AllowN", Method::kAllowN},
      {"/sluice.compat.v1.Allow/Reset", Method::kAllowReset},
      {"/sluice.compat.v1.Quota/CheckRateLimit", Method::kQuotaCheck},
      {"/sluice.compat.v1.Quota/GetRemainingQuota", Method::kQuotaRemaining},
      {"/sluice.compat.v1.Quota/ResetLimit", Method::kQuotaReset},
      {"/grpc.health.v1.Health/Check", Method::kHealthCheck},
      {"/grpc.health.v1.Health/Watch", Method::kHealthWatch},
      {"/grpc.reflection.v1.ServerReflection/ServerReflectionInfo", Method::kReflection},
      {"/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo", Method::kReflection}}});

// Answered by the AdminSeam.
bool is_of_seam(Method method) {
  return method == Method::kConfigurePolicy || method == Method::kListPolicies || method == Method::kMrConfig;
}

// Where an operation is served if the admin API has a port of its own.
enum class Side : std::uint8_t { kChecks, kAdmin, kBoth };

bool is_served(net::Port port, Side side) {
  if (port == net::Port::kAll || side == Side::kBoth) return true;
  return (port == net::Port::kAdmin) == (side == Side::kAdmin);
}

Side side_of(Route route) {
  switch (route) {
    case Route::kCheck:
    case Route::kCheckBatch:
    case Route::kAuthorize:
    case Route::kEnvoyJson:
      return Side::kChecks;
    case Route::kReset:  // for operators, like the rest of the admin API
      return Side::kAdmin;
    case Route::kUsage:  // callers look at their own, operators before they reset
    case Route::kHealthz:
    case Route::kReadyz:
    case Route::kHealthcheck:
    case Route::kMetrics:
    case Route::kOpenapi:
      break;
  }
  return Side::kBoth;
}

Side side_of(Method method) {
  switch (method) {
    case Method::kCheck:
    case Method::kCheckBatch:
    case Method::kShouldRateLimit:
    case Method::kMrCheck:
    case Method::kAllow:
    case Method::kAllowN:
    case Method::kQuotaCheck:
      return Side::kChecks;
    case Method::kAllowReset:
    case Method::kQuotaReset:
    case Method::kResetKey:
    case Method::kConfigurePolicy:
    case Method::kListPolicies:
      return Side::kAdmin;
    case Method::kGetUsage:
    case Method::kMrConfig:
    case Method::kMrStatus:
    case Method::kQuotaRemaining:
    case Method::kHealthCheck:
    case Method::kHealthWatch:
    case Method::kReflection:
      break;
  }
  return Side::kBoth;
}

// Whether there is something at the request's path, on the port that it came by. `route`: null, none of ours.
bool is_here(const Route* route, const net::HttpRequest& request, const AdminSeam* admin) {
  if (route) return is_served(request.peer->port, side_of(*route));
  return admin && is_served(request.peer->port, Side::kAdmin) && admin->handles(request.path);
}

// What a route lets through; empty: anything.
std::string_view allowed_methods(Route route) {
  switch (route) {
    case Route::kCheck:
    case Route::kCheckBatch:
    case Route::kReset:
    case Route::kEnvoyJson:
      return "POST";
    case Route::kAuthorize:
      return "";
    case Route::kUsage:
    case Route::kHealthz:
    case Route::kReadyz:
    case Route::kHealthcheck:
    case Route::kMetrics:
    case Route::kOpenapi:
      break;
  }
  return "GET, HEAD";
}

// Whether a web page does something here that would use up somebody's limits. Where a token is needed, no
// page has one; and resets trust nobody who comes_from_another_site().
bool charges_another_site(Route route, const net::HttpRequest& request) {
  switch (route) {
    case Route::kCheck:
    case Route::kCheckBatch:
    case Route::kEnvoyJson:
      return is_sent_by_another_site(request);
    case Route::kAuthorize:
      return is_sent_by_another_site_unproxied(request);
    default:
      return false;
  }
}

bool is_allowed(std::string_view method, std::string_view allowed) {
  return allowed.empty() || method == allowed ||
         (allowed == "GET, HEAD" && (method == "GET" || method == "HEAD"));
}

}  // namespace

std::vector<HttpPath> http_paths() {
  std::vector<HttpPath> paths;
  for (const auto& [path, route] : kRouteList) paths.push_back({path, allowed_methods(route)});
  return paths;
}

App::App(Limiter& limiter, const DoorOptions& options, std::uint64_t seed, AdminSeam* admin,
         ThrottleLimits* throttle)
    : context_(limiter, options, seed), health_(options), admin_(admin), throttle_(throttle) {
  if (admin_)
    context_.when_recorded = [admin](std::function<void()> then) {
      return admin->when_recorded(std::move(then));
    };
}

std::unique_ptr<net::RedisHandler> App::open_redis(const net::Peer& peer) {
  if (!throttle_) return nullptr;
  return std::make_unique<RedisDoor>(context_, *throttle_, peer);
}

void App::handle_http(const net::HttpRequest& request, net::HttpResponse& response,
                      const std::function<HttpLater()>& defer) {
  context_.limiter.speak_for(request.peer->id);
  const Deprecations* const deprecations = context_.options.deprecations.get();
  const DeprecationNotice* const notice = deprecations ? deprecations->find(request.path) : nullptr;
  if (!notice || !is_here(kRoutes.find(request.path), request, admin_))
    return answer(request, response, defer);
  notice->count_call();
  bool is_late = false;
  answer(request, response, [&] {
    is_late = true;
    return [notice, later = defer()](net::HttpResponse&& late) {
      notice->add_headers(late);
      later(std::move(late));
    };
  });
  if (!is_late) notice->add_headers(response);
}

void App::answer(const net::HttpRequest& request, net::HttpResponse& response,
                 const std::function<HttpLater()>& defer) {
  const Route* const route = kRoutes.find(request.path);
  if (!is_here(route, request, admin_))
    return write_problem(404, "there is nothing at " + std::string(request.path), response);
  if (!route) return admin_->handle(request, response, defer);
  if (const std::string_view allowed = allowed_methods(*route); !is_allowed(request.method, allowed)) {
    response.headers.emplace_back("allow", allowed);
    return write_problem(405, std::string(request.path) + " takes " + std::string(allowed), response);
  }
  if (!context_.options.checks_need_token && charges_another_site(*route, request)) [[unlikely]]
    return write_problem(403, "a page of another site cannot use up limits; let its server ask", response);
  switch (*route) {
    case Route::kCheck:
      return http_check(context_, request, response, defer);
    case Route::kCheckBatch:
      return http_check_batch(context_, request, response, defer);
    case Route::kAuthorize:
      return http_authorize(context_, request, response, defer);
    case Route::kUsage:
      return http_usage(context_, request, response, defer);
    case Route::kReset:
      return http_reset(context_, request, response, defer);
    case Route::kHealthz:
      return http_healthz(response);
    case Route::kReadyz:
      return http_readyz(context_.options, request, response);
    case Route::kHealthcheck:
      return http_healthcheck(context_.options, response);
    case Route::kMetrics:
      return http_metrics(context_.options, request, response);
    case Route::kOpenapi:
      return http_openapi(request, response);
    case Route::kEnvoyJson:
      return http_envoy_json(context_, request, response, defer);
  }
}

net::GrpcStatus App::handle_unary(const net::GrpcContext& context, std::string_view message,
                                  std::string& reply, const std::function<GrpcLater()>& defer) {
  context_.limiter.speak_for(context.peer->id);
  const Method* const method = kMethods.find(context.path);
  const GrpcCall call{context, message, reply, defer};
  if (method) {
    switch (*method) {
      case Method::kCheck:
        return grpc_check(context_, call);
      case Method::kCheckBatch:
        return grpc_check_batch(context_, call);
      case Method::kGetUsage:
        return grpc_get_usage(context_, call);
      case Method::kResetKey:
        return grpc_reset_key(context_, call);
      case Method::kConfigurePolicy:
        return admin_->configure_policy(call);
      case Method::kShouldRateLimit:
        return grpc_should_rate_limit(context_, call);
      case Method::kMrCheck:
        return mr_consume_and_check_limit(context_, call);
      case Method::kMrConfig:
        return admin_->get_current_config(call);
      case Method::kMrStatus:
        return mr_get_bucket_status(context_, call);
      case Method::kAllow:
        return allow(context_, call);
      case Method::kAllowN:
        return allow_n(context_, call);
      case Method::kAllowReset:
        return allow_reset(context_, call);
      case Method::kQuotaCheck:
        return quota_check_rate_limit(context_, call);
      case Method::kQuotaRemaining:
        return quota_get_remaining(context_, call);
      case Method::kQuotaReset:
        return quota_reset_limit(context_, call);
      case Method::kHealthCheck:
        return health_.check(message, reply);
      case Method::kListPolicies:
      case Method::kHealthWatch:
      case Method::kReflection:
        break;
    }
  }
  return {net::GrpcCode::kUnimplemented, "there is no unary method " + std::string(context.path), {}};
}

App::MethodKind App::method_kind(std::string_view path, const net::Peer& peer) const {
  const Method* const method = kMethods.find(path);
  if (!method || (is_of_seam(*method) && !admin_) || !is_served(peer.port, side_of(*method)))
    return MethodKind::kUnknown;
  return *method < Method::kListPolicies ? MethodKind::kUnary : MethodKind::kStreaming;
}

std::unique_ptr<net::GrpcStreamHandler> App::open_stream(const net::GrpcContext& context,
                                                         net::GrpcStream& stream) {
  const Method* const method = kMethods.find(context.path);
  assert(method);
  if (*method == Method::kListPolicies) return admin_->list_policies(context, stream);
  return *method == Method::kHealthWatch ? health_.watch(stream) : open_reflection(stream);
}

}  // namespace sluice::doors

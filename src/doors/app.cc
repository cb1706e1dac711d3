#include "doors/app.h"

#include <cassert>

#include "doors/endpoints.h"
#include "doors/http/other_site.h"
#include "doors/http/problem.h"
#include "doors/resp/redis_door.h"

namespace sluice::doors {
namespace {

// Whether the request's path exists on the port that it came to. `endpoint`: null if no door has the path.
bool is_here(const HttpEndpoint* endpoint, const net::HttpRequest& request, const AdminSeam* admin) {
  if (endpoint) return is_served(request.peer->port, endpoint->side);
  return admin && is_served(request.peer->port, Side::kAdmin) && admin->handles(request.path);
}

// Whether a web page of another site would use up limits here. If a token is needed, no page has one; and
// resets do not trust requests for which comes_from_another_site().
bool charges_for_another_site(const HttpEndpoint& endpoint, const net::HttpRequest& request) {
  switch (endpoint.other_sites) {
    case OtherSites::kServed:
      return false;
    case OtherSites::kRefused:
      return is_sent_by_another_site(request);
    case OtherSites::kRefusedUnlessProxy:
      return is_sent_by_another_site_unproxied(request);
  }
  return false;
}

}  // namespace

App::App(Limiter& limiter, const DoorOptions& options, std::uint64_t seed, AdminSeam* admin,
         ThrottleLimits* throttle)
    : context_(limiter, options, seed),
      health_(options),
      parts_{context_, health_, admin},
      throttle_(throttle) {
  if (admin)
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
  const HttpEndpoint* const endpoint = find_http_endpoint(request.path);
  if (!is_here(endpoint, request, parts_.admin))
    return write_problem(404, "no such path: " + std::string(request.path), response);
  const Deprecations* const deprecations = context_.options.deprecations.get();
  const DeprecationNotice* const notice = deprecations ? deprecations->find(request.path) : nullptr;
  if (!notice) return answer(endpoint, request, response, defer);
  notice->count_call();
  bool is_late = false;
  answer(endpoint, request, response, [&] {
    is_late = true;
    return [notice, later = defer()](net::HttpResponse&& late) {
      notice->add_headers(late);
      later(std::move(late));
    };
  });
  if (!is_late) notice->add_headers(response);
}

void App::answer(const HttpEndpoint* endpoint, const net::HttpRequest& request, net::HttpResponse& response,
                 const std::function<HttpLater()>& defer) {
  if (!endpoint) return parts_.admin->handle(request, response, defer);
  if (!endpoint->takes(request.method)) {
    response.headers.emplace_back("allow", endpoint->methods);
    return write_problem(405, std::string(request.path) + " takes " + std::string(endpoint->methods),
                         response);
  }
  if (!context_.options.checks_need_token && charges_for_another_site(*endpoint, request)) [[unlikely]]
    return write_problem(403, "a page of another site must not send checks; send them from its server",
                         response);
  endpoint->handle(context_, request, response, defer);
}

net::GrpcStatus App::handle_unary(const net::GrpcContext& context, std::string_view message,
                                  std::string& reply, const std::function<GrpcLater()>& defer) {
  context_.limiter.speak_for(context.peer->id);
  const GrpcMethod* const method = find_grpc_method(context.path);
  if (method && method->unary) return method->unary(parts_, {context, message, reply, defer});
  return {net::GrpcCode::kUnimplemented, "unknown method " + std::string(context.path), {}};
}

App::MethodKind App::method_kind(std::string_view path, const net::Peer& peer) const {
  const GrpcMethod* const method = find_grpc_method(path);
  if (!method || (method->is_admins && !parts_.admin) || !is_served(peer.port, method->side))
    return MethodKind::kUnknown;
  return method->unary ? MethodKind::kUnary : MethodKind::kStreaming;
}

std::unique_ptr<net::GrpcStreamHandler> App::open_stream(const net::GrpcContext& context,
                                                         net::GrpcStream& stream) {
  const GrpcMethod* const method = find_grpc_method(context.path);
  assert(method && method->stream);
  return method->stream(parts_, context, stream);
}

}  // namespace sluice::doors

#include "doors/app.h"

#include <cassert>

#include "doors/http/origin/other_site.h"
#include "doors/http/problem.h"
#include "doors/resp/redis_door.h"
#include "telemetry/trace/request_tracer.h"

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

// Adds the headers of a deprecated path to the answer, whenever it comes.
class DeprecatedReply final : public net::HttpReply {
 public:
  DeprecatedReply(net::HttpReply& reply, const DeprecationNotice& notice)
      : net::HttpReply(reply.response), reply_(reply), notice_(notice) {}

  Later later() override {
    is_late_ = true;
    return [notice = &notice_, later = reply_.later()](net::HttpResponse&& late) {
      notice->add_headers(late);
      later(std::move(late));
    };
  }
  // Call it when the request has been handled.
  void finish() const {
    if (!is_late_) notice_.add_headers(response);
  }

 private:
  net::HttpReply& reply_;
  const DeprecationNotice& notice_;
  bool is_late_ = false;
};

// While it exists, the checks of a request belong to its trace. Without a tracer no header is looked for.
class InTrace {
 public:
  template <class Request>
  InTrace(DoorContext& context, RequestTracer* tracer, const Request& request) : context_(context) {
    if (tracer) [[unlikely]]
      context_.trace = tracer->trace_of(request.header("traceparent"));
  }
  ~InTrace() { context_.trace = nullptr; }
  InTrace(const InTrace&) = delete;
  InTrace& operator=(const InTrace&) = delete;

 private:
  DoorContext& context_;
};

}  // namespace

void App::handle_http(const net::HttpRequest& request, net::HttpReply& reply) {
  context_.engine.set_caller(request.peer->id);
  const InTrace in_trace(context_, tracer_, request);
  const HttpEndpoint* const endpoint = find_http_endpoint(request.path);
  if (!is_here(endpoint, request, context_.admin))
    return write_problem(404, "no such path: " + std::string(request.path), reply.response);
  const Deprecations* const deprecations = context_.options.deprecations.get();
  const DeprecationNotice* const notice = deprecations ? deprecations->find(request.path) : nullptr;
  if (!notice) return dispatch(endpoint, request, reply);
  notice->count_call();
  DeprecatedReply deprecated(reply, *notice);
  dispatch(endpoint, request, deprecated);
  deprecated.finish();
}

void App::dispatch(const HttpEndpoint* endpoint, const net::HttpRequest& request, net::HttpReply& reply) {
  if (!endpoint) return context_.admin->handle(request, reply);
  if (!endpoint->takes(request.method)) {
    reply.response.headers.emplace_back("allow", endpoint->methods);
    return write_problem(405, std::string(request.path) + " takes " + std::string(endpoint->methods),
                         reply.response);
  }
  if (!context_.options.checks_need_token && charges_for_another_site(*endpoint, request)) [[unlikely]]
    return write_problem(403, "a page of another site must not send checks; send them from its server",
                         reply.response);
  const Caller caller(context_, endpoint->access, request);
  if (const auto handled = endpoint->handle(context_, caller, {request, reply}); !handled)
    write_problem(handled.error(), reply.response);
}

void App::handle_unary(const net::GrpcContext& context, std::string_view message, net::GrpcReply& reply) {
  context_.engine.set_caller(context.peer->id);
  const InTrace in_trace(context_, tracer_, context);
  const GrpcMethod* const method = find_grpc_method(context.path);
  if (!method || !method->unary) {
    reply.response.status = {
        net::GrpcCode::kUnimplemented, "unknown method " + std::string(context.path), {}};
    return;
  }
  const Caller caller(context_, method->access, context);
  if (const auto handled = method->unary(context_, caller, {context, message, reply}); !handled)
    write_problem(handled.error(), reply.response);
}

App::MethodKind App::method_kind(std::string_view path, const net::Peer& peer) const {
  const GrpcMethod* const method = find_grpc_method(path);
  if (!method || !is_served(peer.port, method->side)) return MethodKind::kUnknown;
  if (method->access == Access::kAdminApi && !context_.admin) return MethodKind::kUnknown;
  return method->unary ? MethodKind::kUnary : MethodKind::kStreaming;
}

std::unique_ptr<net::GrpcStreamHandler> App::open_stream(const net::GrpcContext& context,
                                                         net::GrpcStream& stream) {
  const GrpcMethod* const method = find_grpc_method(context.path);
  assert(method && method->stream);
  return method->stream(context_, context, stream);
}

std::unique_ptr<net::RedisHandler> App::open_redis(const net::Peer& peer) {
  if (!throttle_) return nullptr;
  return std::make_unique<RedisDoor>(context_, *throttle_, peer);
}

}  // namespace sluice::doors

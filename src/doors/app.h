#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include "doors/door_context.h"
#include "doors/endpoints.h"
#include "doors/resp/redis_throttle.h"
#include "net/http/http_api.h"

namespace sluice {
class RequestTracer;
}

namespace sluice::doors {

// The application behind one loop thread: dispatches each request to its handler. Makes no decisions itself.
// Belongs to its loop's thread, like the Engine it uses. The Engine and the options must outlive it.
class App final : public net::Application {
 public:
  // `seed` feeds the jitter of Retry-After; each thread needs its own.
  // `admin`: null if there is no admin API; must outlive this object.
  // `throttle`: null if there is no Redis protocol; must outlive this object.
  // `nodes`: null if there is no exchange between nodes; must outlive this object.
  // `tracer`: null if nothing is traced; must outlive this object.
  App(Engine& engine, const DoorOptions& options, std::uint64_t seed, AdminSeam* admin = nullptr,
      ThrottleLimits* throttle = nullptr, NodesSeam* nodes = nullptr, RequestTracer* tracer = nullptr)
      : context_(engine, options, seed, admin, nodes), throttle_(throttle), tracer_(tracer) {}

  void handle_http(const net::HttpRequest& request, net::HttpReply& reply) override;
  void handle_unary(const net::GrpcContext& context, std::string_view message,
                    net::GrpcReply& reply) override;
  MethodKind method_kind(std::string_view path, const net::Peer& peer) const override;
  std::unique_ptr<net::GrpcStreamHandler> open_stream(const net::GrpcContext& context,
                                                      net::GrpcStream& stream) override;
  std::unique_ptr<net::RedisHandler> open_redis(const net::Peer& peer) override;

  // Notifies health watchers if the health has changed. Call it regularly on the loop's thread, and when
  // draining begins.
  void publish_health() { context_.health.publish(); }

 private:
  // `endpoint`: null for the admin API.
  void dispatch(const HttpEndpoint* endpoint, const net::HttpRequest& request, net::HttpReply& reply);

  DoorContext context_;
  ThrottleLimits* const throttle_;
  RequestTracer* const tracer_;
};

}  // namespace sluice::doors

#pragma once

#include <cstdint>
#include <vector>

#include "doors/admin_seam.h"
#include "doors/door_context.h"
#include "doors/grpc_health.h"
#include "doors/http_path.h"
#include "doors/redis_throttle.h"
#include "net/http_api.h"

namespace sluice::doors {

// Every path that the doors themselves answer; the admin API has its own.
std::vector<HttpPath> http_paths();

// The program behind one loop thread: finds the door that a request knocks at. Decides nothing itself. Lives
// on its loop's thread, like the Limiter it uses; both that and the options must outlive it.
class App final : public net::Application {
 public:
  // `seed` feeds the jitter of Retry-After; give each thread its own.
  // `admin`: null, there is no admin API; outlives this.
  // `throttle`: null, there is no Redis protocol; outlives this.
  App(Limiter& limiter, const DoorOptions& options, std::uint64_t seed, AdminSeam* admin = nullptr,
      ThrottleLimits* throttle = nullptr);

  void handle_http(const net::HttpRequest& request, net::HttpResponse& response,
                   const std::function<HttpLater()>& defer) override;
  net::GrpcStatus handle_unary(const net::GrpcContext& context, std::string_view message, std::string& reply,
                               const std::function<GrpcLater()>& defer) override;
  MethodKind method_kind(std::string_view path, const net::Peer& peer) const override;
  std::unique_ptr<net::GrpcStreamHandler> open_stream(const net::GrpcContext& context,
                                                      net::GrpcStream& stream) override;

  std::unique_ptr<net::RedisHandler> open_redis(const net::Peer& peer) override;

  // Tells those who watch the health if it has changed. Call it on the loop's thread now and then, and
  // whenever draining begins.
  void publish_health() { health_.publish(); }

 private:
  void answer(const net::HttpRequest& request, net::HttpResponse& response,
              const std::function<HttpLater()>& defer);

  DoorContext context_;
  Health health_;
  AdminSeam* const admin_;
  ThrottleLimits* const throttle_;
};

}  // namespace sluice::doors

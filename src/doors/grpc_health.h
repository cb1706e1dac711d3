#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "doors/door_context.h"
#include "net/http_api.h"

namespace sluice::doors {

// The standard service grpc.health.v1.Health, for the names "", "sluice.v1.RateLimiter" and
// those of the Envoy door. Serving means
// what /readyz means by ready. Lives on one loop thread.
class Health {
 public:
  explicit Health(const DoorOptions& options) : options_(options) {}
  ~Health();
  Health(const Health&) = delete;
  Health& operator=(const Health&) = delete;

  net::GrpcStatus check(std::string_view message, std::string& reply) const;
  // The handler of a Watch call; must not outlive this object.
  std::unique_ptr<net::GrpcStreamHandler> watch(net::GrpcStream& stream);

  // Sends the status to all watchers for whom it has changed.
  void publish();

 private:
  class Watcher;
  enum class Status : std::uint8_t { kUnknown = 0, kServing = 1, kNotServing = 2, kServiceUnknown = 3 };
  Status status() const;
  static void write(Status status, std::string& out);

  const DoorOptions& options_;
  std::vector<Watcher*> watchers_;
};

}  // namespace sluice::doors

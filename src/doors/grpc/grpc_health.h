#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "doors/door_options.h"
#include "net/http/http_api.h"

namespace sluice::doors {

// The standard service grpc.health.v1.Health. Belongs to one loop thread.
//
// For "" and for the names of all services that decide checks, SERVING means ready as in /readyz. The
// additional name "sluice.store" is also not serving while the store is slow or silent (degraded in /readyz).
// The other names keep serving then: a load balancer that sends callers away does not make a shared store
// faster.
class Health {
 public:
  explicit Health(const DoorOptions& options) : options_(options) {}
  ~Health();
  Health(const Health&) = delete;
  Health& operator=(const Health&) = delete;

  void check(std::string_view message, net::GrpcResponse& response) const;
  // The handler of a Watch call; must not outlive this object.
  std::unique_ptr<net::GrpcStreamHandler> watch(net::GrpcStream& stream);

  // Sends the status to every watcher for which it has changed.
  void publish();

 private:
  class Watcher;
  enum class Status : std::uint8_t { kUnknown = 0, kServing = 1, kNotServing = 2, kServiceUnknown = 3 };
  enum class Name : std::uint8_t { kUnknown, kService, kStore };
  static Name read_name(std::string_view service);
  Status status(Name name) const { return status(name, options_.readiness()); }
  static Status status(Name name, const Readiness& readiness);
  static void write(Status status, std::string& out);

  const DoorOptions& options_;
  std::vector<Watcher*> watchers_;
};

}  // namespace sluice::doors

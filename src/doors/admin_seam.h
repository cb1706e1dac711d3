#pragma once

#include <functional>
#include <memory>
#include <string_view>

#include "base/error.h"
#include "net/http/http_api.h"

namespace sluice::control {
struct Principal;
}

namespace sluice::doors {

struct GrpcCall;

// Interface of the admin API for the doors: the admin API lies in a layer above them. One per loop, on its
// thread.
class AdminSeam {
 public:
  virtual ~AdminSeam() = default;
  virtual bool handles(std::string_view path) const = 0;
  virtual void handle(const net::HttpRequest& request, net::HttpReply& reply) = 0;

  // The methods of sluice.v1.RateLimiter that the admin API answers.
  virtual void configure_policy(const GrpcCall& call) = 0;
  virtual std::unique_ptr<net::GrpcStreamHandler> list_policies(const net::GrpcContext& context,
                                                                net::GrpcStream& stream) = 0;

  // GetCurrentConfig of ratelimiter.v1.RateLimiterService.
  virtual void get_current_config(const GrpcCall& call) = 0;

  // Calls `then` later, when all audit records so far are on disk: in the database, or, while that is
  // unreachable, in a file of the state folder. False: they are already, and `then` is never called.
  virtual bool when_recorded(std::function<void()> then) = 0;
  // kOverloaded: the admins of these tenants have made too many resets in the last minute.
  virtual Result<void> admit_reset(const control::Principal& principal) = 0;
  // Whether a read of a door counts as one of this admin's. False: they must wait, and `response` says so.
  virtual bool admit_read(const control::Principal& principal, net::HttpResponse& response) = 0;

  virtual void tick() = 0;  // sends the answers that have arrived
};

}  // namespace sluice::doors

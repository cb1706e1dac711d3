#pragma once

#include <cstddef>
#include <expected>
#include <memory>

#include "admin/control_plane_client.h"
#include "admin/policies/policy_list.h"
#include "admin/self_limits.h"
#include "control/access/authenticator.h"
#include "doors/grpc/grpc_call.h"
#include "net/http/http_api.h"

namespace sluice::admin {

// ConfigurePolicy and ListPolicies of sluice.v1.RateLimiter, and GetCurrentConfig of the multi-rate API, on
// one loop. Lives on the loop's thread.
class PolicyService {
 public:
  // REQUIRES: all outlive this object.
  PolicyService(control::Authenticator& authenticator, SelfLimiter& engine, ControlPlaneClient& client)
      : authenticator_(authenticator), engine_(engine), client_(client) {}
  PolicyService(const PolicyService&) = delete;
  PolicyService& operator=(const PolicyService&) = delete;

  net::GrpcStatus configure(const doors::GrpcCall& call);
  net::GrpcStatus current_config(const doors::GrpcCall& call);
  // The handler must not outlive this object. Null: the call was refused and has ended.
  std::unique_ptr<net::GrpcStreamHandler> list(const net::GrpcContext& context, net::GrpcStream& stream);
  void tick(std::int64_t now_us) { listings_.cut_slow_readers(now_us); }

 private:
  // The caller, if they may read. Otherwise PERMISSION_DENIED and the like, or the status with the rate
  // limit.
  std::expected<control::Principal, net::GrpcStatus> reader(const net::GrpcContext& context);
  // Runs the question on the control plane's thread, and answers the call with what `answer` makes of the
  // result.
  template <class Question, class Answer>
  net::GrpcStatus ask(const doors::GrpcCall& call, Question question, Answer answer);
  Result<control::Principal> who(const net::GrpcContext& context) const {
    auto principal = authenticator_.who(*context.peer, context.header("authorization"));
    if (principal) context.peer->recognise();
    return principal;
  }

  control::Authenticator& authenticator_;
  SelfLimiter& engine_;
  ControlPlaneClient& client_;
  PolicyListings listings_;
};

}  // namespace sluice::admin

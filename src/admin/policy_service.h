#pragma once

#include <cstddef>
#include <expected>
#include <memory>

#include "admin/plane_link.h"
#include "admin/policy_list.h"
#include "admin/self_limits.h"
#include "control/access.h"
#include "doors/grpc_call.h"
#include "net/http_api.h"

namespace sluice::admin {

// ConfigurePolicy and ListPolicies of sluice.v1.RateLimiter, and GetCurrentConfig of the multi-rate API, as
// one loop sees them. Lives on the loop's thread.
class PolicyService {
 public:
  // All outlive it.
  PolicyService(const control::Access& access, SelfLimiter& limiter, PlaneLink& link)
      : access_(access), limiter_(limiter), link_(link) {}
  PolicyService(const PolicyService&) = delete;
  PolicyService& operator=(const PolicyService&) = delete;

  net::GrpcStatus configure(const doors::GrpcCall& call);
  net::GrpcStatus current_config(const doors::GrpcCall& call);
  // The handler must not outlive this object. Null: the call has been refused and is over.
  std::unique_ptr<net::GrpcStreamHandler> list(const net::GrpcContext& context, net::GrpcStream& stream);
  void tick(std::int64_t now_us) { listings_.cut_slow_readers(now_us); }

 private:
  // kPermissionDenied, and so on; or the status that says how often one may ask.
  std::expected<control::Principal, net::GrpcStatus> reader(const net::GrpcContext& context);
  // Asks on the control plane's thread, and answers the call with what `answer` makes of the result.
  template <class Question, class Answer>
  net::GrpcStatus ask(const doors::GrpcCall& call, Question question, Answer answer);
  Result<control::Principal> who(const net::GrpcContext& context) const {
    auto principal = access_.who(*context.peer, context.header("authorization"));
    if (principal) context.peer->recognise();
    return principal;
  }

  const control::Access& access_;
  SelfLimiter& limiter_;
  PlaneLink& link_;
  PolicyListings listings_;
};

}  // namespace sluice::admin

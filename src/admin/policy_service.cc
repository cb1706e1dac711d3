#include "admin/policy_service.h"

#include <utility>

#include "admin/configure_policy.h"
#include "admin/policy_list.h"
#include "base/stream_limits.h"
#include "doors/problem.h"
#include "net/protobuf_wire.h"

namespace sluice::admin {

net::GrpcStatus PolicyService::configure(const doors::GrpcCall& call) {
  auto principal = who(call.context);
  if (!principal) return doors::grpc_status(principal.error());
  if (auto status = limiter_.admit(*principal, SelfLimiter::Kind::kWrite); status.code != net::GrpcCode::kOk)
    return status;
  auto change = PolicyChangeCall::read(call.message, call.context, *std::move(principal));
  if (!change) return doors::grpc_status(change.error());

  const auto later = std::make_shared<net::Application::GrpcLater>();
  const bool taken =
      link_.ask([change = std::make_shared<const PolicyChangeCall>(*std::move(change))](
                    AdminContext& context) { return configure_policy(context, *change); },
                [later](const Result<std::string>& version) {
                  std::string reply;
                  if (version) net::WireWriter(reply).string(1, *version);
                  (*later)(version ? net::GrpcStatus{} : doors::grpc_status(version.error()), reply);
                });
  if (!taken) return doors::grpc_status(PlaneLink::busy());
  *later = call.defer();
  return {};
}

std::unique_ptr<net::GrpcStreamHandler> PolicyService::list(const net::GrpcContext& context,
                                                            net::GrpcStream& stream) {
  const auto refuse = [&stream](const net::GrpcStatus& status) {
    stream.finish(status);
    return nullptr;
  };
  auto principal = who(context);
  if (!principal) return refuse(doors::grpc_status(principal.error()));
  if (auto may = principal->may(control::Role::kRead); !may) return refuse(doors::grpc_status(may.error()));
  if (auto status = limiter_.admit(*principal, SelfLimiter::Kind::kRead); status.code != net::GrpcCode::kOk)
    return refuse(status);
  if (open_lists_ >= kPolicyListsMax)
    return refuse({net::GrpcCode::kResourceExhausted,
                   "too many lists of policies are being read; try again when one of them has ended",
                   {}});
  return std::make_unique<PolicyListing>(link_, stream, *std::move(principal), open_lists_);
}

}  // namespace sluice::admin

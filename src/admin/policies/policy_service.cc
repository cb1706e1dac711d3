#include "admin/policies/policy_service.h"

#include <optional>
#include <utility>

#include "admin/policies/configure_policy.h"
#include "admin/policies/current_config.h"
#include "doors/http/problem.h"
#include "net/grpc/protobuf_wire.h"

namespace sluice::admin {

net::GrpcStatus PolicyService::configure(const doors::GrpcCall& call) {
  auto principal = who(call.context);
  if (!principal) return doors::grpc_status(principal.error());
  if (auto status = limiter_.admit(*principal, SelfLimiter::Kind::kWrite, call.message.size());
      status.code != net::GrpcCode::kOk)
    return status;
  auto change = PolicyChangeCall::read(call.message, call.context, *std::move(principal));
  if (!change) return doors::grpc_status(change.error());

  return ask(
      call,
      [change = std::make_shared<const PolicyChangeCall>(*std::move(change))](AdminContext& context) {
        return configure_policy(context, *change);
      },
      [](const std::string& version, std::string& reply) { net::WireWriter(reply).string(1, version); });
}

net::GrpcStatus PolicyService::current_config(const doors::GrpcCall& call) {
  auto principal = reader(call.context);
  if (!principal) return principal.error();
  if (!is_config_request(call.message)) return doors::grpc_status(doors::malformed_message());
  return ask(
      call,
      [principal = *std::move(principal)](AdminContext& context) {
        return write_current_config(*context.catalog.current(), principal);
      },
      [](std::string& message, std::string& reply) { reply.swap(message); });
}

template <class Question, class Answer>
net::GrpcStatus PolicyService::ask(const doors::GrpcCall& call, Question question, Answer answer) {
  const auto later = std::make_shared<net::GrpcReply::Later>();
  const bool taken =
      client_.ask(std::move(question), [later, answer](std::optional<Result<std::string>>&& told) {
        Result<std::string> result =
            told ? *std::move(told) : std::unexpected(ControlPlaneClient::out_of_memory());
        net::GrpcResponse response;
        if (result)
          answer(*result, response.message);
        else
          doors::write_problem(result.error(), response);
        (*later)(std::move(response));
      });
  if (!taken) return doors::grpc_status(ControlPlaneClient::busy());
  *later = call.reply.later();
  return {};
}

std::expected<control::Principal, net::GrpcStatus> PolicyService::reader(const net::GrpcContext& context) {
  auto principal = who(context);
  if (!principal) return std::unexpected(doors::grpc_status(principal.error()));
  if (auto may = principal->may(control::Role::kRead); !may)
    return std::unexpected(doors::grpc_status(may.error()));
  if (auto status = limiter_.admit(*principal, SelfLimiter::Kind::kRead, 0);
      status.code != net::GrpcCode::kOk)
    return std::unexpected(std::move(status));
  return *std::move(principal);
}

std::unique_ptr<net::GrpcStreamHandler> PolicyService::list(const net::GrpcContext& context,
                                                            net::GrpcStream& stream) {
  const auto refuse = [&stream](const net::GrpcStatus& status) {
    stream.finish(status);
    return nullptr;
  };
  auto principal = reader(context);
  if (!principal) return refuse(principal.error());
  if (const std::string why = listings_.refusal(principal->name); !why.empty())
    return refuse({net::GrpcCode::kResourceExhausted, why, {}});
  return std::make_unique<PolicyListing>(client_, stream, *std::move(principal), listings_);
}

}  // namespace sluice::admin

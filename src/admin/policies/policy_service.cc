#include "admin/policies/policy_service.h"

#include <optional>
#include <utility>

#include "admin/policies/current_config.h"
#include "admin/policies/policy_changes.h"
#include "base/limits.h"
#include "base/try.h"
#include "document/literals.h"
#include "doors/http/problem.h"
#include "net/grpc/protobuf_wire.h"
#include "policy/document/policy_document.h"

namespace sluice::admin {
namespace {

// ConfigurePolicy: the message Policy and the rest of the call, as values, because it moves from a loop's
// thread to the control plane's.
struct PolicyChangeCall {
  std::string id;            // empty: the document has it
  std::string document;      // YAML or JSON
  std::int64_t version = 0;  // that the caller has seen; 0: any
  std::string owner;         // empty: the document's
  AdminCall call;            // who and why
};

Result<Policy> policy_of(const PolicyChangeCall& change) {
  Problems problems;
  auto policy = parse_policy(change.document, "document", problems, change.id);
  if (!policy) {
    Error error = problems.first_error();
    if (error.field.empty()) error.field = "document";
    return std::unexpected(std::move(error));
  }
  if (!change.id.empty() && policy->id != change.id)
    return invalid("id",
                   "the document's id is \"" + policy->id + "\", but the call says \"" + change.id + '"');
  if (!change.owner.empty()) policy->owner = change.owner;
  return *std::move(policy);
}

// kConflict means that a file, a rollout or another policy is in the way. ALREADY_EXISTS would tell the
// client that nothing has to be done.
Error in_words_of_grpc(Error error) {
  if (error.code == ErrorCode::kConflict) error.code = ErrorCode::kFailedPrecondition;
  if (error.code == ErrorCode::kStale) error.field = "version";
  return error;
}

// Metadata may hold an `idempotency-key`, and `confirm: deny-everyone`. kInvalidArgument: a field is out of
// bounds.
Result<PolicyChangeCall> read_change(std::string_view message, const net::GrpcContext& context,
                                     control::Principal principal) {
  PolicyChangeCall change;
  change.call.bytes = message.size();
  net::WireReader reader(message);
  while (reader.next()) {
    switch (reader.field()) {
      case 1:
        change.id = reader.string();
        break;
      case 2:
        change.document = reader.string();
        break;
      case 3:
        change.version = reader.int64();
        break;
      case 4:
        change.owner = reader.string();
        break;
      case 5:
        change.call.reason = reader.string();
        break;
      default:
        break;
    }
  }
  if (!reader.ok()) return std::unexpected(doors::malformed_message());
  if (change.version < 0)
    return invalid("version", "send the version that you have seen, or 0 to replace any version");
  if (!change.owner.empty())
    if (auto owner = parse_free_text(change.owner, kNameBytesMax); !owner)
      return invalid("owner", owner.error());
  change.call.idempotency_key = context.header("idempotency-key");
  if (const std::string_view confirm = context.header("confirm"); !confirm.empty())
    change.call.query["confirm"] = confirm;
  change.call.principal = std::move(principal);
  SLUICE_TRY(change.call.check_bounds("reason"));
  return change;
}

// Puts the policy into force, as PUT /v1/policies/{id} does, and returns "id#47". Runs on the control plane's
// thread.
Result<std::string> configure_policy(AdminContext& context, const PolicyChangeCall& change) {
  auto policy = SLUICE_TRY(policy_of(change));
  const auto expected = change.version == 0 ? std::nullopt : std::optional(change.version);
  auto written = put_one_policy(context, change.call, policy, expected, "put");
  if (!written) return std::unexpected(in_words_of_grpc(std::move(written.error())));
  return policy.id + '#' + std::to_string(version_in_force(*written));
}

}  // namespace

net::GrpcStatus PolicyService::configure(const doors::GrpcCall& call) {
  auto principal = who(call.context);
  if (!principal) return doors::grpc_status(principal.error());
  if (auto status = engine_.admit(*principal, SelfLimiter::Kind::kWrite, call.message.size());
      status.code != net::GrpcCode::kOk)
    return status;
  auto change = read_change(call.message, call.context, *std::move(principal));
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
  if (auto status = engine_.admit(*principal, SelfLimiter::Kind::kRead, 0); status.code != net::GrpcCode::kOk)
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

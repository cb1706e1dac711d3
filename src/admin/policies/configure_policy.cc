#include "admin/policies/configure_policy.h"

#include "admin/policies/policy_views.h"
#include "base/limits.h"
#include "base/try.h"
#include "document/literals.h"
#include "doors/grpc/grpc_call.h"
#include "net/grpc/protobuf_wire.h"
#include "policy/document/policy_document.h"

namespace sluice::admin {
namespace {

Result<Policy> policy_of(const PolicyChangeCall& change) {
  Problems problems;
  auto policy = parse_policy(change.document, "document", problems, change.id);
  if (!policy) {
    Error error = about_one_policy(problems.first_error());
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

}  // namespace

Result<PolicyChangeCall> PolicyChangeCall::read(std::string_view message, const net::GrpcContext& context,
                                                control::Principal principal) {
  PolicyChangeCall change;
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

Result<std::string> configure_policy(AdminContext& context, const PolicyChangeCall& change) {
  auto policy = SLUICE_TRY(policy_of(change));
  const auto expected = change.version == 0 ? std::nullopt : std::optional(change.version);
  auto written = put_one_policy(context, change.call, policy, expected, "put");
  if (!written) return std::unexpected(in_words_of_grpc(std::move(written.error())));
  return policy.id + '#' + std::to_string(version_in_force(*written));
}

}  // namespace sluice::admin

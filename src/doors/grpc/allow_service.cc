// sluice.compat.v1.Allow: one key, one policy. api/sluice/compat/v1/allow.proto describes its messages.
#include <array>

#include "doors/grpc/field_names.h"
#include "doors/grpc/grpc_answer.h"
#include "net/grpc/protobuf_wire.h"

namespace sluice::doors {
namespace {

using net::append_wire;
using net::GrpcResponse;
using net::WireCursor;
using net::WireReader;

constexpr std::string_view kDefaultPolicy = "default";
constexpr std::array kNames = {FieldName{"policy_id", "policy"}, FieldName{"cost", "n"}};

Result<CheckRequest> finished(const WireReader& reader, CheckRequest check) {
  if (!reader.ok()) return std::unexpected(malformed_message());
  if (check.key.empty()) return is_empty("key");
  if (check.policy_id.empty()) check.policy_id = kDefaultPolicy;
  return check;
}

// Reads AllowRequest and ResetRequest.
Result<CheckRequest> read_allow(std::string_view message) {
  CheckRequest check;
  WireReader reader(message);
  while (reader.next()) {
    if (reader.field() == 1) check.key = reader.string();
    if (reader.field() == 2) check.policy_id = reader.string();
  }
  return finished(reader, check);
}

// An absent n means 0: proto3 cannot distinguish the two here.
Result<CheckRequest> read_allow_n(std::string_view message) {
  CheckRequest check{.cost = 0};
  WireReader reader(message);
  while (reader.next()) {
    if (reader.field() == 1) check.key = reader.string();
    if (reader.field() == 2) check.cost = reader.int64();
    if (reader.field() == 3) check.policy_id = reader.string();
  }
  return finished(reader, check);
}

void write_answer(const Result<Decision>& decision, GrpcResponse& out) {
  if (!decision) return write_problem(in_their_words(decision.error(), kNames), out);
  append_wire(out.message, 5 * WireCursor::kFieldRoom, [&](WireCursor& cursor) {
    cursor.boolean(1, decision->allowed);
    cursor.int64(2, decision->limit());
    cursor.int64(3, decision->remaining());
    cursor.int64(4, decision->retry_after_ms());
    cursor.int64(5, decision->reset_unix_ms());
  });
}

void write_allow_reset(const Result<int>& existed, GrpcResponse& out) {
  if (!existed) write_problem(in_their_words(existed.error(), kNames), out);
}

Result<void> decide(DoorContext& context, const Caller& caller, const GrpcCall& call,
                    Result<CheckRequest> (*read)(std::string_view message)) {
  CheckRequest check = SLUICE_TRY(read(call.message));
  check.deadline_us = call.context.deadline_us;
  return answer_check(context, caller, call, check, write_answer);
}

}  // namespace

Result<void> allow(DoorContext& context, const Caller& caller, const GrpcCall& call) {
  return decide(context, caller, call, read_allow);
}
Result<void> allow_n(DoorContext& context, const Caller& caller, const GrpcCall& call) {
  return decide(context, caller, call, read_allow_n);
}

Result<void> allow_reset(DoorContext& context, const Caller& caller, const GrpcCall& call) {
  CheckRequest check = SLUICE_TRY(read_allow(call.message));
  return answer_reset(context, caller, call, check, "", write_allow_reset);
}

}  // namespace sluice::doors

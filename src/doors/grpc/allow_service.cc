#include "doors/grpc/allow_service.h"

#include <array>

#include "doors/grpc/field_names.h"
#include "doors/grpc/grpc_question.h"
#include "net/grpc/protobuf_wire.h"

namespace sluice::doors {
namespace {

using net::append_wire;
using net::GrpcStatus;
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

GrpcStatus write_answer(const Result<Decision>& decision, std::string& reply) {
  if (!decision) return grpc_status(in_their_words(decision.error(), kNames));
  append_wire(reply, 5 * WireCursor::kFieldRoom, [&](WireCursor& cursor) {
    cursor.boolean(1, decision->allowed);
    cursor.int64(2, decision->limit());
    cursor.int64(3, decision->remaining());
    cursor.int64(4, decision->retry_after_ms());
    cursor.int64(5, decision->reset_unix_ms());
  });
  return {};
}

GrpcStatus decide(DoorContext& context, const GrpcCall& call,
                  Result<CheckRequest> (*read)(std::string_view message)) {
  auto check = read(call.message);
  if (!check) return grpc_status(check.error());
  check->deadline_us = call.context.deadline_us;
  return answer_check(context, call, *check, write_answer);
}

}  // namespace

GrpcStatus allow(DoorContext& context, const GrpcCall& call) { return decide(context, call, read_allow); }
GrpcStatus allow_n(DoorContext& context, const GrpcCall& call) { return decide(context, call, read_allow_n); }

GrpcStatus allow_reset(DoorContext& context, const GrpcCall& call) {
  auto check = read_allow(call.message);
  if (!check) return grpc_status(check.error());
  return answer_reset(context, call, *check, "", [](const Result<int>& existed, std::string&) {
    return existed ? GrpcStatus{} : grpc_status(in_their_words(existed.error(), kNames));
  });
}

}  // namespace sluice::doors

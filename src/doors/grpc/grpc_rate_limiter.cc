// The native gRPC service, sluice.v1.RateLimiter; api/sluice/v1/rate_limiter.proto describes its messages.
// Each handler reads a request's bytes, asks the engine and appends the response's bytes.
#include <algorithm>
#include <limits>

#include "base/arith.h"
#include "base/limits.h"
#include "doors/check/batch_answers.h"
#include "doors/check/lease_answer.h"
#include "doors/grpc/grpc_answer.h"
#include "doors/http/fields/check_field.h"
#include "doors/text.h"
#include "net/grpc/protobuf_wire.h"

namespace sluice::doors {
namespace {

using net::append_wire;
using net::GrpcResponse;
using net::WireCursor;
using net::WireReader;

std::int32_t clamp_int32(std::int64_t value) {
  using Limits = std::numeric_limits<std::int32_t>;
  return static_cast<std::int32_t>(std::clamp<std::int64_t>(value, Limits::min(), Limits::max()));
}

// An entry of map<string, string>. If a name occurs twice, the last value wins, as in protobuf.
Result<void> read_dimension(WireReader entry, CheckList& out) {
  std::string_view name;
  std::string_view value;
  while (entry.next()) {
    if (entry.field() == 1) name = entry.string();
    if (entry.field() == 2) value = entry.string();
  }
  if (!entry.ok()) return std::unexpected(malformed_message());
  if (Dimension* known = out.find_dimension(name)) {
    known->value = value;
    return {};
  }
  if (out.dimension_count() == kDimensionsMax) return too_many_dimensions();
  out.put_dimension(name, value);
  return {};
}

Result<void> read_check_request(WireReader reader, CheckList& out) {
  CheckRequest& check = out.add();
  check.needs_key = true;  // as over HTTP
  while (reader.next()) {
    switch (reader.field()) {
      case 1:
        check.policy_id = reader.string();
        break;
      case 2:
        SLUICE_TRY(read_dimension(reader.message(), out));
        break;
      case 3:
        check.cost = reader.int32();
        break;
      case 4:
        check.request_id = reader.string();
        break;
      case 5:
        check.tenant = reader.string();
        break;
      case 6:
        check.resource = reader.string();
        break;
      default:
        break;
    }
  }
  if (!reader.ok()) return std::unexpected(malformed_message());
  return {};
}

// The fields of ResetKeyRequest that GetUsageRequest does not have.
struct ResetFields {
  std::string_view reason;
  bool own_only = false;
};

// Reads GetUsageRequest or ResetKeyRequest.
Result<void> read_key_request(WireReader reader, CheckList& out, ResetFields& reset) {
  CheckRequest& check = out.add();
  while (reader.next()) {
    switch (reader.field()) {
      case 1:
        check.policy_id = reader.string();
        break;
      case 2:
        SLUICE_TRY(read_dimension(reader.message(), out));
        break;
      case 3:
        check.tenant = reader.string();
        break;
      case 4:
        check.resource = reader.string();
        break;
      case 5:
        reset.reason = reader.string();
        break;
      case 6:
        reset.own_only = reader.boolean();
        break;
      default:
        break;
    }
  }
  if (!reader.ok()) return std::unexpected(malformed_message());
  return {};
}

Result<void> read_batch(WireReader reader, CheckList& out) {
  while (reader.next()) {
    if (reader.field() != 1) continue;
    const std::size_t i = out.size();
    if (i == kBatchMax) return too_many_checks();
    if (auto read = read_check_request(reader.message(), out); !read)
      return std::unexpected(in_batch(i, std::move(read.error())));
  }
  if (!reader.ok()) return std::unexpected(malformed_message());
  return {};
}

std::size_t quota_room(const LimitStatus& status) {
  const CompiledLimit& limit = *status.limit;
  std::size_t room =
      5 * WireCursor::kFieldRoom + limit.name().size() + to_string(status.numbers->algorithm).size();
  for (const std::string& dimension : limit.per()) room += WireCursor::kFieldRoom + dimension.size();
  return room;
}

void write_quota(WireCursor& cursor, std::uint32_t field, const LimitStatus& status) {
  char* const quota = cursor.begin_message(field);
  cursor.string(1, status.limit->name());
  for (const std::string& dimension : status.limit->per()) cursor.element(2, dimension);
  cursor.int64(3, status.numbers->rate.count);
  cursor.int64(4, ceil_div(status.numbers->rate.period_us, 1000));
  cursor.string(5, to_string(status.numbers->algorithm));
  cursor.end_message(quota);
}

std::size_t version_room(const CompiledPolicy& policy) {
  return 2 * WireCursor::kFieldRoom + policy.source.id.size() + policy.version_mark().size();
}

// policy.version_text() without making a string.
void write_version(WireCursor& cursor, std::uint32_t field, const CompiledPolicy& policy) {
  char* const version = cursor.begin_message(field);
  cursor.bytes(policy.source.id);
  cursor.bytes("#");
  cursor.digits(policy.source.version);
  cursor.bytes(policy.version_mark());
  cursor.end_message(version);
}

std::size_t answer_room(const Decision& decision) {
  std::size_t room =
      15 * WireCursor::kFieldRoom + kUnknownTierWarning.size() + to_string(decision.reason).size();
  if (decision.policy) room += version_room(*decision.policy);
  if (decision.tightest) room += quota_room(*decision.tightest);
  return room;
}

void write_answer(const Decision& decision, WireCursor& cursor) {
  cursor.boolean(1, decision.allowed);
  cursor.int32(2, clamp_int32(decision.remaining()));
  cursor.int64(3, decision.reset_unix_ms());
  cursor.int32(4, clamp_int32(decision.retry_after_ms()));
  if (decision.policy) write_version(cursor, 5, *decision.policy);
  if (decision.tightest) write_quota(cursor, 6, *decision.tightest);
  cursor.int64(7, decision.limit());
  cursor.int64(8, decision.current());
  cursor.int32(9, decision.tightest ? clamp_int32(decision.tightest->limit->index) : -1);
  cursor.uint64(10, static_cast<std::uint64_t>(decision.pressure()));
  cursor.string(11, to_string(decision.reason));
  cursor.boolean(12, decision.degraded);
  cursor.boolean(13, decision.replayed);
  if (decision.unknown_tier) [[unlikely]]
    cursor.string(15, kUnknownTierWarning);
  if (decision.lease_advised) [[unlikely]]
    cursor.boolean(16, true);
}

void write_usage(const Decision& decision, const LimitStatus& status, WireCursor& cursor) {
  char* const usage = cursor.begin_message(1);
  write_quota(cursor, 1, status);
  cursor.int64(2, status.current());
  cursor.int64(3, status.result->outcome.remaining);
  cursor.int64(4, ceil_div(decision.now_us + status.result->outcome.reset_after_us, 1000));
  cursor.uint64(5, static_cast<std::uint64_t>(status.result->pressure));
  cursor.end_message(usage);
}

void write_check(const Result<Decision>& decision, GrpcResponse& out) {
  if (!decision) return write_problem(decision.error(), out);
  append_wire(out.message, answer_room(*decision),
              [&](WireCursor& cursor) { write_answer(*decision, cursor); });
}

// The status that the check would have got on its own.
void write_batch_error(const Error& error, std::string& reply) {
  const net::GrpcStatus status = grpc_status(error);
  append_wire(reply, 4 * WireCursor::kFieldRoom + status.message.size(), [&](WireCursor& cursor) {
    char* const result = cursor.begin_message(1);
    char* const in_its_place = cursor.begin_message(14);
    cursor.int32(1, static_cast<std::int32_t>(status.code));
    cursor.string(2, status.message);
    cursor.end_message(in_its_place);
    cursor.end_message(result);
  });
}

void write_batch_element(const Result<Decision>& decision, bool, std::string& reply) {
  if (!decision) return write_batch_error(decision.error(), reply);
  append_wire(reply, WireCursor::kFieldRoom + answer_room(*decision), [&](WireCursor& cursor) {
    char* const result = cursor.begin_message(1);
    write_answer(*decision, cursor);
    cursor.end_message(result);
  });
}

void write_batch(const Result<std::string>& answers, GrpcResponse& out) {
  if (!answers) return write_problem(answers.error(), out);
  out.message = *answers;
}

void write_usages(const Result<Decision>& usage, GrpcResponse& out) {
  if (!usage) return write_problem(usage.error(), out);
  for (const LimitStatus& status : usage->limits)
    append_wire(out.message, 5 * WireCursor::kFieldRoom + quota_room(status),
                [&](WireCursor& cursor) { write_usage(*usage, status, cursor); });
}

void write_reset(const Result<int>& existed, GrpcResponse& out) {
  if (!existed) return write_problem(existed.error(), out);
  net::WireWriter(out.message).int32(1, *existed);
}

void write_lease(const Result<Lease>& lease, GrpcResponse& out) {
  if (!lease) return write_problem(lease.error(), out);
  net::WireWriter writer(out.message);
  writer.string(1, lease->id);
  writer.int32(2, clamp_int32(lease->granted));
  writer.int64(3, lease->expires_unix_ms);
  writer.int32(4, clamp_int32(lease->refresh_after_ms));
  writer.int32(5, clamp_int32(lease->safe_capacity));
  writer.int32(6, clamp_int32(lease->retry_after_ms));
  writer.string(7, lease->policy_version);
  writer.int32(8, clamp_int32(lease->expires_after_ms));
  writer.boolean(9, lease->replayed);
  writer.int64(10, lease->check_cost);
}

void write_returned(const Result<void>& returned, GrpcResponse& out) {
  if (!returned) write_problem(returned.error(), out);
}

}  // namespace

Result<void> grpc_check(DoorContext& context, const Caller& caller, const GrpcCall& call) {
  context.checks.clear();
  SLUICE_TRY(read_check_request(WireReader(call.message), context.checks));
  CheckRequest& request = context.checks.finish(call.context.deadline_us).front();
  return answer_check(context, caller, call, request, write_check);
}

Result<void> grpc_check_batch(DoorContext& context, const Caller& caller, const GrpcCall& call) {
  context.checks.clear();
  SLUICE_TRY(read_batch(WireReader(call.message), context.checks));
  const std::span<CheckRequest> checks = context.checks.finish(call.context.deadline_us);
  const Permit permit = SLUICE_TRY(caller.permit(checks));
  SLUICE_TRY(context.gate.admit(checks.size()));
  answer(
      call.reply,
      [&](const auto& postpone) {
        return check_all(context.engine, permit, checks, write_batch_element, postpone);
      },
      write_batch);
  return {};
}

// LeaseRequest has the fields of CheckRequest, with `want` in the place of `cost`.
Result<void> grpc_lease(DoorContext& context, const Caller& caller, const GrpcCall& call) {
  context.checks.clear();
  SLUICE_TRY(read_check_request(WireReader(call.message), context.checks));
  CheckRequest& request = context.checks.finish(call.context.deadline_us).front();
  const net::GrpcContext& metadata = call.context;
  if (metadata.idempotency_keys > 1) return given_twice(std::string(kKeyHeader));
  return answer_lease(context, caller, call.reply, request, metadata.idempotency_key, write_lease);
}

Result<void> grpc_return_lease(DoorContext& context, const Caller& caller, const GrpcCall& call) {
  std::string_view lease_id;
  std::int64_t unused = 0;
  WireReader reader(call.message);
  while (reader.next()) {
    if (reader.field() == 1) lease_id = reader.string();
    if (reader.field() == 2) unused = reader.int32();
  }
  if (!reader.ok()) return std::unexpected(malformed_message());
  return answer_return(context, caller, call.reply, lease_id, unused, write_returned);
}

Result<void> grpc_get_usage(DoorContext& context, const Caller& caller, const GrpcCall& call) {
  context.checks.clear();
  ResetFields unused;
  SLUICE_TRY(read_key_request(WireReader(call.message), context.checks, unused));
  CheckRequest& request = context.checks.finish(call.context.deadline_us).front();
  return answer_look(context, caller, call, request, write_usages);
}

Result<void> grpc_reset_key(DoorContext& context, const Caller& caller, const GrpcCall& call) {
  context.checks.clear();
  ResetFields reset;
  SLUICE_TRY(read_key_request(WireReader(call.message), context.checks, reset));
  CheckRequest& request = context.checks.finish().front();
  return answer_reset(context, caller, call, request, reset.reason, write_reset, !reset.own_only);
}

}  // namespace sluice::doors

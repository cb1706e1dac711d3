#include "doors/grpc_rate_limiter.h"

#include <algorithm>
#include <limits>

#include "base/arith.h"
#include "base/limits.h"
#include "doors/check_field.h"
#include "doors/problem.h"
#include "net/protobuf_wire.h"

namespace sluice::doors {
namespace {

using net::append_wire;
using net::GrpcStatus;
using net::WireCursor;
using net::WireReader;

Error malformed() {
  return {ErrorCode::kInvalidArgument, "the message is not the protobuf that this method expects", ""};
}

std::int32_t clamp_int32(std::int64_t value) {
  using Limits = std::numeric_limits<std::int32_t>;
  return static_cast<std::int32_t>(std::clamp<std::int64_t>(value, Limits::min(), Limits::max()));
}

// An entry of map<string, string>. A name that comes twice means its last value, as protobuf has it.
Result<void> read_dimension(WireReader entry, CheckList& out) {
  std::string_view name;
  std::string_view value;
  while (entry.next()) {
    if (entry.field() == 1) name = entry.string();
    if (entry.field() == 2) value = entry.string();
  }
  if (!entry.ok()) return std::unexpected(malformed());
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
  while (reader.next()) {
    switch (reader.field()) {
      case 1:
        check.policy_id = reader.string();
        break;
      case 2:
        if (auto read = read_dimension(reader.message(), out); !read) return read;
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
  if (!reader.ok()) return std::unexpected(malformed());
  return {};
}

// GetUsageRequest, and ResetKeyRequest with its reason.
Result<void> read_key_request(WireReader reader, CheckList& out) {
  CheckRequest& check = out.add();
  while (reader.next()) {
    switch (reader.field()) {
      case 1:
        check.policy_id = reader.string();
        break;
      case 2:
        if (auto read = read_dimension(reader.message(), out); !read) return read;
        break;
      case 3:
        check.tenant = reader.string();
        break;
      case 4:
        check.resource = reader.string();
        break;
      default:
        break;
    }
  }
  if (!reader.ok()) return std::unexpected(malformed());
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
  if (!reader.ok()) return std::unexpected(malformed());
  return {};
}

std::size_t quota_room(const CompiledLimit& limit) {
  std::size_t room =
      5 * WireCursor::kFieldRoom + limit.name.size() + to_string(limit.numbers.algorithm).size();
  for (const std::string& dimension : limit.per) room += WireCursor::kFieldRoom + dimension.size();
  return room;
}

void write_quota(WireCursor& cursor, std::uint32_t field, const CompiledLimit& limit) {
  char* const quota = cursor.begin_message(field);
  cursor.string(1, limit.name);
  for (const std::string& dimension : limit.per) cursor.element(2, dimension);
  cursor.int64(3, limit.numbers.rate.count);
  cursor.int64(4, ceil_div(limit.numbers.rate.period_us, 1000));
  cursor.string(5, to_string(limit.numbers.algorithm));
  cursor.end_message(quota);
}

std::size_t answer_room(const Decision& decision) {
  std::size_t room = 13 * WireCursor::kFieldRoom + to_string(decision.reason).size();
  if (decision.policy) room += decision.policy->version_text.size();
  if (decision.tightest) room += quota_room(*decision.tightest->limit);
  return room;
}

void write_answer(const Decision& decision, WireCursor& cursor) {
  cursor.boolean(1, decision.allowed);
  cursor.int32(2, clamp_int32(decision.remaining()));
  cursor.int64(3, decision.reset_unix_ms());
  cursor.int32(4, clamp_int32(decision.retry_after_ms()));
  if (decision.policy) cursor.string(5, decision.policy->version_text);
  if (decision.tightest) write_quota(cursor, 6, *decision.tightest->limit);
  cursor.int64(7, decision.limit());
  cursor.int64(8, decision.current());
  cursor.int32(9, decision.tightest ? clamp_int32(decision.tightest->limit->index) : -1);
  cursor.uint64(10, static_cast<std::uint64_t>(decision.pressure()));
  cursor.string(11, to_string(decision.reason));
  cursor.boolean(12, decision.degraded);
  cursor.boolean(13, decision.replayed);
}

void write_usage(const Decision& decision, const LimitStatus& status, WireCursor& cursor) {
  char* const usage = cursor.begin_message(1);
  write_quota(cursor, 1, *status.limit);
  cursor.int64(2, status.current());
  cursor.int64(3, status.result.outcome.remaining);
  cursor.int64(4, ceil_div(decision.now_us + status.result.outcome.reset_after_us, 1000));
  cursor.uint64(5, static_cast<std::uint64_t>(status.result.pressure));
  cursor.end_message(usage);
}

}  // namespace

GrpcStatus grpc_check(DoorContext& context, std::string_view message, std::string& reply) {
  context.checks.clear();
  if (auto read = read_check_request(WireReader(message), context.checks); !read)
    return grpc_status(read.error());
  const auto decision = context.limiter.check(context.checks.finish().front());
  if (!decision) return grpc_status(decision.error());
  append_wire(reply, answer_room(*decision), [&](WireCursor& cursor) { write_answer(*decision, cursor); });
  return {};
}

GrpcStatus grpc_check_batch(DoorContext& context, std::string_view message, std::string& reply) {
  context.checks.clear();
  if (auto read = read_batch(WireReader(message), context.checks); !read) return grpc_status(read.error());
  const std::span<const CheckRequest> checks = context.checks.finish();
  for (std::size_t i = 0; i < checks.size(); ++i)
    if (auto valid = context.limiter.validate(checks[i]); !valid)
      return grpc_status(in_batch(i, std::move(valid.error())));

  for (std::size_t i = 0; i < checks.size(); ++i) {
    const auto decision = context.limiter.check(checks[i]);
    // Only a policy that vanished since the validation gets here.
    if (!decision) return grpc_status(in_batch(i, decision.error()));
    append_wire(reply, WireCursor::kFieldRoom + answer_room(*decision), [&](WireCursor& cursor) {
      char* const result = cursor.begin_message(1);
      write_answer(*decision, cursor);
      cursor.end_message(result);
    });
  }
  return {};
}

GrpcStatus grpc_get_usage(DoorContext& context, std::string_view message, std::string& reply) {
  context.checks.clear();
  if (auto read = read_key_request(WireReader(message), context.checks); !read)
    return grpc_status(read.error());
  const auto usage = context.limiter.usage(context.checks.finish().front());
  if (!usage) return grpc_status(usage.error());
  for (const LimitStatus& status : usage->limits)
    append_wire(reply, 5 * WireCursor::kFieldRoom + quota_room(*status.limit),
                [&](WireCursor& cursor) { write_usage(*usage, status, cursor); });
  return {};
}

GrpcStatus grpc_reset_key(DoorContext& context, std::string_view message, std::string& reply) {
  if (!context.options.admin_allowed)
    return {net::GrpcCode::kPermissionDenied,
            "ResetKey is for operators; call it on a listener at a loopback address",
            {}};
  context.checks.clear();
  if (auto read = read_key_request(WireReader(message), context.checks); !read)
    return grpc_status(read.error());
  const auto existed = context.limiter.reset(context.checks.finish().front());
  if (!existed) return grpc_status(existed.error());
  net::WireWriter(reply).int32(1, *existed);
  return {};
}

}  // namespace sluice::doors

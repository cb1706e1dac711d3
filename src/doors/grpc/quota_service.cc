// sluice.compat.v1.Quota: limits on users, addresses and API keys per endpoint.
// api/sluice/compat/v1/quota.proto describes its messages.
#include <algorithm>
#include <array>
#include <string>

#include "base/arith.h"
#include "doors/grpc/field_names.h"
#include "doors/grpc/grpc_answer.h"
#include "net/grpc/protobuf_wire.h"

namespace sluice::doors {
namespace {

using net::append_wire;
using net::GrpcResponse;
using net::WireCursor;
using net::WireReader;

constexpr std::array<std::string_view, 3> kDimensionNames = {"user", "ip", "api_key"};  // by number
constexpr std::array kQuotaNames = {
    FieldName{"dimensions.user", "identifier"}, FieldName{"dimensions.ip", "identifier"},
    FieldName{"dimensions.api_key", "identifier"}, FieldName{"resource", "endpoint"},
    FieldName{"request_id", "idempotency_key"}};

// The fields of all three requests, plus those of CheckRequest.
struct QuotaQuestion {
  Dimension who;
  CheckRequest check{.wants_a_limit = true};  // everything except `who`

  // Valid as long as this object.
  CheckRequest request(std::int64_t deadline_us) const {
    CheckRequest whole = check;
    whole.dimensions = {&who, 1};
    whole.deadline_us = deadline_us;
    return whole;
  }
};

Result<QuotaQuestion> read_quota_question(std::string_view message, bool is_check) {
  QuotaQuestion question;
  std::int32_t dimension = 0;
  WireReader reader(message);
  while (reader.next()) {
    if (reader.field() == 1) question.who.value = reader.string();
    if (reader.field() == 2) dimension = reader.int32();
    if (reader.field() == 3) question.check.resource = reader.string();
    if (!is_check) continue;
    if (reader.field() == 4) question.check.cost = reader.int64();
    if (reader.field() == 5) static_cast<void>(reader.int64());  // the caller's clock is not trusted
    if (reader.field() == 6) question.check.request_id = reader.string();
  }
  if (!reader.ok()) return std::unexpected(malformed_message());
  if (dimension < 0 || static_cast<std::size_t>(dimension) >= kDimensionNames.size())
    return invalid("dimension", std::to_string(dimension) +
                                    " is not a dimension; send 0 for USER, 1 for IP or 2 for API_KEY");
  question.who.name = kDimensionNames[static_cast<std::size_t>(dimension)];
  if (question.who.value.empty()) return is_empty("identifier");
  return question;
}

// The level of the fullest leaky bucket: a request that passes all of them waits for that one.
std::int64_t queue_position(const Decision& decision) {
  std::int64_t position = 0;
  for (const LimitStatus& status : decision.limits)
    if (status.numbers->algorithm == Algorithm::kLeakyBucket) position = std::max(position, status.current());
  return position;
}

// Until one more would pass all limits: the store tells it of each.
std::int64_t one_unit_after_ms(const Decision& usage) {
  std::int64_t longest_us = 0;
  for (const LimitStatus& status : usage.limits) {
    if (status.numbers->capacity == 0) return kNever;
    longest_us = std::max(longest_us, status.result->one_unit_after_us);
  }
  return ceil_div(longest_us, 1000);
}

std::int64_t in_seconds(std::int64_t ms) { return ms < 0 ? ms : ceil_div(ms, 1000); }

// Writes CheckResponse and QuotaResponse.
void write_answer(const Decision& decision, bool allowed, std::int64_t retry_after_ms, std::string& reply) {
  append_wire(reply, 7 * WireCursor::kFieldRoom, [&](WireCursor& cursor) {
    cursor.boolean(1, allowed);
    cursor.int64(2, decision.current());
    cursor.int64(3, decision.limit());
    cursor.int64(4, decision.remaining());
    cursor.int64(5, in_seconds(decision.reset_unix_ms()));
    cursor.int64(6, in_seconds(retry_after_ms));
    if (decision.allowed) cursor.int64(7, queue_position(decision));
  });
}

void write_quota_check(const Result<Decision>& decision, GrpcResponse& out) {
  if (!decision) return write_problem(in_their_words(decision.error(), kQuotaNames), out);
  write_answer(*decision, decision->allowed, decision->retry_after_ms(), out.message);
}

void write_remaining(const Result<Decision>& usage, GrpcResponse& out) {
  if (!usage) return write_problem(in_their_words(usage.error(), kQuotaNames), out);
  const bool allowed = !usage->tightest || usage->tightest->policy->shadow || usage->remaining() > 0;
  write_answer(*usage, allowed, allowed ? 0 : one_unit_after_ms(*usage), out.message);
}

void write_quota_reset(const Result<int>& existed, GrpcResponse& out) {
  if (!existed) return write_problem(in_their_words(existed.error(), kQuotaNames), out);
  net::WireWriter(out.message).int32(1, *existed);
}

}  // namespace

Result<void> quota_check_rate_limit(DoorContext& context, const Caller& caller, const GrpcCall& call) {
  const QuotaQuestion question = SLUICE_TRY(read_quota_question(call.message, true));
  CheckRequest request = question.request(call.context.deadline_us);
  return answer_check(context, caller, call, request, write_quota_check);
}

Result<void> quota_get_remaining(DoorContext& context, const Caller& caller, const GrpcCall& call) {
  const QuotaQuestion question = SLUICE_TRY(read_quota_question(call.message, false));
  CheckRequest request = question.request(call.context.deadline_us);
  return answer_look(context, caller, call, request, write_remaining);
}

Result<void> quota_reset_limit(DoorContext& context, const Caller& caller, const GrpcCall& call) {
  const QuotaQuestion question = SLUICE_TRY(read_quota_question(call.message, false));
  CheckRequest request = question.request(0);
  return answer_reset(context, caller, call, request, "", write_quota_reset);
}

}  // namespace sluice::doors

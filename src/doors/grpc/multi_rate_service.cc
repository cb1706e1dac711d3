#include "doors/grpc/multi_rate_service.h"

#include <algorithm>
#include <array>
#include <optional>

#include "base/limits.h"
#include "document/literals.h"
#include "doors/grpc/field_names.h"
#include "doors/grpc/grpc_answer.h"
#include "engine/request/own_policy.h"
#include "net/grpc/protobuf_wire.h"
#include "policy/multi_rate/multi_rate_entry.h"

namespace sluice::doors {
namespace {

using net::append_wire;
using net::GrpcResponse;
using net::WireCursor;
using net::WireReader;

constexpr std::array kMultiRateNames = {FieldName{"key", "limit_key"}};

struct BucketQuestion {
  std::optional<std::string_view> domain;
  std::string_view limit_key;
  std::optional<std::int64_t> cost;
};

// Reads CheckRequest, or StatusRequest, which has no cost.
Result<BucketQuestion> read_bucket_question(std::string_view message, bool has_cost) {
  BucketQuestion question;
  WireReader reader(message);
  while (reader.next()) {
    if (reader.field() == 1) question.domain = reader.string();
    if (reader.field() == 2) question.limit_key = reader.string();
    if (reader.field() == 3 && has_cost) question.cost = reader.int32();
  }
  if (!reader.ok()) return std::unexpected(malformed_message());
  if (question.domain)
    if (const auto good = parse_free_text(*question.domain, kKeyBytesMax); !good)
      return invalid("domain", good.error());
  if (question.limit_key.empty()) return is_empty("limit_key");
  return question;
}

// The check for this request. A domain without an entry uses the entry of the default domain, but with its
// own counters: unrelated domains must not use up each other's room. REQUIRES: the policies outlive it.
CheckRequest check_of(const BucketQuestion& question, const Snapshot& policies, const DoorOptions& options,
                      std::string& scratch) {
  const std::string_view domain = question.domain.value_or(kMrDefaultDomain);
  CheckRequest check{.tenant = domain, .key = question.limit_key, .cost = question.cost};
  if (const CompiledPolicy* const entry =
          find_multi_rate_entry(policies, domain, question.limit_key, scratch)) {
    check.policy_id = entry->source.id;
    check.resource = entry->source.resource;
    return check;
  }
  const bool is_unknown = domain != kMrDefaultDomain;
  const CompiledPolicy* const fallback =
      is_unknown ? find_multi_rate_entry(policies, kMrDefaultDomain, question.limit_key, scratch) : nullptr;
  check.own_policy = fallback ? fallback : options.multi_rate_default.get();
  check.resource = check.own_policy->source.resource;
  check.own_with_always = true;
  check.own_by_tenant = is_unknown;
  return check;
}

double per_second(const Rate& rate) {
  return static_cast<double>(rate.count) * 1e6 / static_cast<double>(rate.period_us);
}

// What remains in a bucket, including fractions: the time until it is empty is more precise than whole units.
// That time is rounded up, so the result must not be below the whole units.
double left_in(const LimitStatus& status) {
  const Outcome& outcome = status.result->outcome;
  const auto whole = static_cast<double>(outcome.remaining);
  if (!status.numbers->is_bucket()) return whole;
  const double level = static_cast<double>(outcome.reset_after_us) / 1e6 * per_second(status.numbers->rate);
  return std::max(whole, static_cast<double>(status.numbers->capacity) - level);
}

// Each bucket counts all denials, but forgets them after its own time: the slowest bucket knows most. A limit
// of 0 remembers nothing, so the result is at least the cost of this denial, up to the most that buckets
// count.
std::int64_t deny_count(const Decision& decision) {
  const std::int64_t now_denied = decision.allowed ? 0 : std::min(decision.cost, kDeniedCostMax);
  std::int64_t denied = 0;
  for (const LimitStatus& status : decision.limits)
    denied = std::max({denied, now_denied, status.result->denied_cost});
  return denied;
}

struct Narrowest {
  std::int32_t index = -1;  // no bucket was looked at
  double remaining = 0;
};

// The bucket with the least remaining, or that would have been the fullest.
Narrowest narrowest_of(const Decision& decision) {
  const double missing = decision.allowed ? 0 : static_cast<double>(decision.cost);
  Narrowest narrowest;
  for (std::size_t i = 0; i < decision.limits.size(); ++i) {
    const double remaining = left_in(decision.limits[i]) - missing;
    if (narrowest.index < 0 || remaining < narrowest.remaining)
      narrowest = {static_cast<std::int32_t>(i), remaining};
  }
  return narrowest;
}

void write_bucket_check(const Result<Decision>& decision, GrpcResponse& out) {
  if (!decision) return write_problem(in_their_words(decision.error(), kMultiRateNames), out);
  const Narrowest narrowest = narrowest_of(*decision);
  append_wire(out.message, 4 * WireCursor::kFieldRoom, [&](WireCursor& cursor) {
    cursor.boolean(1, decision->allowed);
    cursor.float64(2, narrowest.remaining);
    cursor.int32(3, narrowest.index);
    if (!decision->allowed) cursor.int64(4, deny_count(*decision));
  });
}

void write_level(const LimitStatus& status, WireCursor& cursor) {
  const double left = left_in(status);
  char* const level = cursor.begin_message(1);
  cursor.float64(1, static_cast<double>(status.numbers->capacity) - left);
  cursor.float64(2, per_second(status.numbers->rate));
  cursor.int64(3, status.numbers->capacity);
  cursor.float64(4, left);
  cursor.end_message(level);
}

void write_status(const Result<Decision>& usage, GrpcResponse& out) {
  if (!usage) return write_problem(in_their_words(usage.error(), kMultiRateNames), out);
  const std::size_t fields = 2 + 5 * usage->limits.size();
  append_wire(out.message, fields * WireCursor::kFieldRoom, [&](WireCursor& cursor) {
    for (const LimitStatus& status : usage->limits) write_level(status, cursor);
    cursor.int64(2, usage->now_us / 1000);
    cursor.int64(3, deny_count(*usage));
  });
}

}  // namespace

std::shared_ptr<const CompiledPolicy> make_multi_rate_default(const SnapshotPublisher& snapshots,
                                                              ParamsTable& params) {
  return compile_own_policy(multi_rate_built_in(), snapshots, params);
}

Result<void> multi_rate_consume_and_check_limit(DoorContext& context, const Caller& caller,
                                                const GrpcCall& call) {
  const BucketQuestion question = SLUICE_TRY(read_bucket_question(call.message, true));
  const Engine::Hold hold = context.engine.hold();
  CheckRequest check = check_of(question, hold.policies(), context.options, context.scratch);
  check.deadline_us = call.context.deadline_us;
  return answer_check(context, caller, call, check, write_bucket_check);
}

Result<void> multi_rate_get_bucket_status(DoorContext& context, const Caller& caller, const GrpcCall& call) {
  const BucketQuestion question = SLUICE_TRY(read_bucket_question(call.message, false));
  const Engine::Hold hold = context.engine.hold();
  CheckRequest check = check_of(question, hold.policies(), context.options, context.scratch);
  check.deadline_us = call.context.deadline_us;
  return answer_look(context, caller, call, check, write_status);
}

}  // namespace sluice::doors

#include "doors/envoy/envoy_answer.h"

#include <algorithm>

#include "base/arith.h"
#include "base/time_units.h"
#include "document/document_builder.h"
#include "document/document_text.h"
#include "doors/http/problem.h"
#include "doors/text.h"
#include "net/grpc/grpc_text.h"

namespace sluice::doors {
namespace {

constexpr int kDenyStatus = 429;  // Envoy's own default

std::uint32_t clamp_uint32(std::int64_t value) {
  return static_cast<std::uint32_t>(std::clamp<std::int64_t>(value, 0, UINT32_MAX));
}

// For a window: until it ends, as is usual for windows. Else until the wait is over, or until the limit is
// fully restored.
std::int64_t reset_after_s(const LimitStatus& status, const Decision& decision) {
  const Outcome& outcome = status.result->outcome;
  std::int64_t us =
      decision.allowed || outcome.retry_after_us == kNever ? outcome.reset_after_us : outcome.retry_after_us;
  if (status.numbers->algorithm == Algorithm::kFixedWindow) {
    const std::int64_t period_us = status.numbers->rate.period_us;
    us = period_us - decision.now_us % period_us;
  }
  return std::max<std::int64_t>(ceil_div(us, kSecondUs), 1);
}

// Everything except the code and the name.
inline void fill_numbers(const LimitStatus& limit, const Decision& decision, EnvoyStatus& out) {
  out.has_limit = true;
  out.requests_per_unit = clamp_uint32(limit.numbers->rate.count);
  out.unit = unit_of_period(limit.numbers->rate.period_us);
  out.remaining = clamp_uint32(limit.result->outcome.remaining);
  out.reset_after_s = reset_after_s(limit, decision);
}

void add_missing(const DocumentNode& from, DocumentNode& to) {
  for (std::size_t i = 0; i < from.items.size(); ++i)
    if (!to.find(from.keys[i].text)) put(to, from.keys[i].text, from.items[i]);
}

bool is_told(const PlannedDescriptor& descriptor, const EnvoyStatus& status) {
  return descriptor.rule && !status.over_limit && descriptor.rule->metadata.kind == DocumentNode::Kind::kMap;
}

// The metadata of the limits that the request has passed; for a name that occurs twice, the first value.
// REQUIRES: there is some.
[[gnu::noinline]] DocumentNode metadata_of(const std::vector<PlannedDescriptor>& planned,
                                           const std::vector<EnvoyStatus>& statuses) {
  DocumentNode all = map_node();
  for (std::size_t i = 0; i < planned.size(); ++i)
    if (is_told(planned[i], statuses[i])) add_missing(planned[i].rule->metadata, all);
  DocumentNode metadata = map_node();
  put(metadata, "metadata", std::move(all));
  return metadata;
}

DocumentNode denial_node(const Decision& decision) {
  DocumentNode why = map_node();
  if (decision.policy) {
    put(why, "policy_id", text_node(decision.policy->source.id));
    put(why, "policy_version", number_node(decision.policy->version_number()));
  }
  if (decision.tightest) put(why, "limit", text_node(decision.tightest->limit->name()));
  put(why, "reason", text_node(to_string(decision.reason)));
  put(why, "retry_after_ms", number_node(decision.retry_after_ms()));
  return why;
}

}  // namespace

EnvoyStatus status_of(const PlannedDescriptor& descriptor, const Decision* decision) {
  EnvoyStatus status;
  if (!decision) {
    status.over_limit = descriptor.is_full;
    if (descriptor.rule && descriptor.rule->unlimited) status.remaining = UINT32_MAX;
    return status;
  }
  status.over_limit = !decision->allowed;
  if (!decision->tightest) return status;
  const LimitStatus& tightest = *decision->tightest;
  fill_numbers(tightest, *decision, status);
  if (descriptor.kind == PlannedDescriptor::Kind::kRule &&
      tightest.policy->source.id == descriptor.rule->policy_id)
    status.name = descriptor.rule->name;
  else if (descriptor.kind != PlannedDescriptor::Kind::kOverride)
    status.name = tightest.limit->name();
  return status;
}

EnvoyStatus status_of_full(const LimitStatus& quota, const Decision& looked) {
  EnvoyStatus status;
  status.over_limit = true;
  fill_numbers(quota, looked, status);
  return status;
}

void EnvoyAnswer::fill(const std::vector<PlannedDescriptor>& planned, const JointDecision* joint,
                       RateLimitHeaders& header_writer) {
  statuses.clear();
  metadata.reset();
  bool tells = false;
  for (const PlannedDescriptor& descriptor : planned) {
    const std::size_t part = descriptor.decided();
    const Decision* const decision = part == PlannedDescriptor::kNotAsked ? nullptr : &joint->parts[part];
    tells |= is_told(descriptor, statuses.emplace_back(status_of(descriptor, decision)));
  }
  if (tells) metadata = metadata_of(planned, statuses);
  headers = joint ? header_writer.make(joint->overall) : std::span<const net::Header>();
  over_limit = joint && !joint->overall.allowed;
  unreachable = over_limit && joint->overall.degraded && !joint->overall.tightest;
  if (over_limit) fill_denial(joint->overall);
}

[[gnu::noinline]] void EnvoyAnswer::fill_denial(const Decision& decision) {
  denial.headers.clear();
  denial.body.clear();
  write_denial(kDenyStatus, decision, denial);
  denial.headers.emplace_back("content-type", denial.content_type);
  if (!metadata) metadata = map_node();
  put(*metadata, "denied_by", denial_node(decision));
}

void EnvoyAnswer::append_json(std::string& out) const {
  const auto number = [&](std::string_view name, std::int64_t value) {
    out.append(",\"").append(name).append("\":").append(std::to_string(value));
  };
  const auto code = [&](bool over) { out.append(over ? "\"OVER_LIMIT\"" : "\"OK\""); };
  out.append("{\"overallCode\":");
  code(over_limit);
  out.append(",\"statuses\":[");
  for (const EnvoyStatus& status : statuses) {
    if (&status != statuses.data()) out.push_back(',');
    out.append("{\"code\":");
    code(status.over_limit);
    if (status.has_limit) {
      out.append(",\"currentLimit\":{\"unit\":\"").append(to_string(status.unit)).append("\"");
      number("requestsPerUnit", status.requests_per_unit);
      if (!status.name.empty()) {
        out.append(",\"name\":");
        append_json_string(out, status.name);
      }
      out.push_back('}');
    }
    number("limitRemaining", status.remaining);
    if (status.reset_after_s > 0)
      out.append(",\"durationUntilReset\":\"").append(std::to_string(status.reset_after_s)).append("s\"");
    out.push_back('}');
  }
  out.push_back(']');
  bool first = true;
  const auto header = [&](const net::Header& each) {
    out.append(first ? ",\"responseHeadersToAdd\":[{\"key\":" : ",{\"key\":");
    first = false;
    append_json_string(out, each.name);
    out.append(",\"value\":");
    append_json_string(out, each.value);
    out.push_back('}');
  };
  for (const net::Header& each : headers) header(each);
  if (over_limit)
    for (const net::Header& each : denial.headers) header(each);
  if (!first) out.push_back(']');
  if (over_limit) {
    out.append(",\"rawBody\":\"");
    net::append_base64(out, denial.body);
    out.append((3 - denial.body.size() % 3) % 3, '=');
    out.push_back('"');
  }
  if (metadata) {
    out.append(",\"dynamicMetadata\":");
    sluice::append_json(*metadata, out);
  }
  out.push_back('}');
}

}  // namespace sluice::doors

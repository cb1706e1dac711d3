#include "doors/envoy_answer.h"

#include <algorithm>

#include "base/arith.h"
#include "doors/problem.h"
#include "doors/text.h"
#include "net/grpc_text.h"
#include "policy/document_builder.h"
#include "policy/document_text.h"

namespace sluice::doors {
namespace {

constexpr std::int64_t kUsPerSecond = 1'000'000;
constexpr int kDenyStatus = 429;  // Envoy's own, unless it is told otherwise

std::uint32_t clamp_uint32(std::int64_t value) {
  return static_cast<std::uint32_t>(std::clamp<std::int64_t>(value, 0, UINT32_MAX));
}

// Of a window: until it ends, as everybody who counts in windows tells it; else until the wait is over, or
// until all is there again.
std::int64_t reset_after_s(const Decision& decision) {
  const LimitStatus& status = *decision.tightest;
  const Outcome& outcome = status.result->outcome;
  std::int64_t us =
      decision.allowed || outcome.retry_after_us == kNever ? outcome.reset_after_us : outcome.retry_after_us;
  if (status.numbers->algorithm == Algorithm::kFixedWindow) {
    const std::int64_t period_us = status.numbers->rate.period_us;
    us = period_us - decision.now_us % period_us;
  }
  return std::max<std::int64_t>(ceil_div(us, kUsPerSecond), 1);
}

void add_missing(const DocumentNode& from, DocumentNode& to) {
  for (std::size_t i = 0; i < from.items.size(); ++i)
    if (!to.find(from.keys[i].text)) put(to, from.keys[i].text, from.items[i]);
}

// What the limits that a request has passed want to be told with it; of two values under one name the first.
DocumentNode metadata_of(const std::vector<EnvoySlot>& slots, const std::vector<EnvoyStatus>& statuses) {
  DocumentNode all;
  for (std::size_t i = 0; i < slots.size(); ++i) {
    const EnvoyRule* const rule = slots[i].rule;
    if (!rule || statuses[i].over_limit || rule->metadata.kind != DocumentNode::Kind::kMap) continue;
    if (all.kind != DocumentNode::Kind::kMap) all = map_node();
    add_missing(rule->metadata, all);
  }
  return all;
}

DocumentNode denial_node(const Decision& decision) {
  DocumentNode why = map_node();
  if (decision.policy) put(why, "policy_id", text_node(decision.policy->source.id));
  if (decision.tightest) put(why, "limit", text_node(decision.tightest->limit->name()));
  put(why, "reason", text_node(to_string(decision.reason)));
  put(why, "retry_after_ms", number_node(decision.retry_after_ms()));
  return why;
}

}  // namespace

EnvoyStatus status_of(const EnvoySlot& slot, const Decision* decision) {
  EnvoyStatus status;
  if (!decision) {
    status.over_limit = slot.is_full;
    if (slot.rule && slot.rule->unlimited) status.remaining = UINT32_MAX;
    return status;
  }
  status.over_limit = !decision->allowed;
  if (!decision->tightest) return status;
  const LimitStatus& tightest = *decision->tightest;
  status.has_limit = true;
  status.requests_per_unit = clamp_uint32(tightest.numbers->rate.count);
  status.unit = unit_of_period(tightest.numbers->rate.period_us);
  if (slot.kind == EnvoySlot::Kind::kRule && tightest.policy->source.id == slot.rule->policy_id)
    status.name = slot.rule->name;
  else if (slot.kind != EnvoySlot::Kind::kOverride)
    status.name = tightest.limit->name();
  status.remaining = clamp_uint32(tightest.result->outcome.remaining);
  status.reset_after_s = reset_after_s(*decision);
  return status;
}

void EnvoyAnswer::fill(const std::vector<EnvoySlot>& slots, const JointDecision* joint,
                       RateLimitHeaders& headers) {
  statuses.clear();
  for (const EnvoySlot& slot : slots)
    statuses.push_back(
        status_of(slot, slot.check == EnvoySlot::kNotAsked ? nullptr : &joint->parts[slot.check]));
  extra.headers.clear();
  extra.body.clear();
  metadata = {};
  over_limit = joint && !joint->overall.allowed;
  unreachable = over_limit && joint->overall.degraded && !joint->overall.tightest;
  if (joint) headers.add(joint->overall, extra);
  if (DocumentNode told = metadata_of(slots, statuses); told.kind == DocumentNode::Kind::kMap) {
    metadata = map_node();
    put(metadata, "metadata", std::move(told));
  }
  if (!over_limit) return;
  write_denial(kDenyStatus, joint->overall, extra);
  extra.headers.emplace_back("content-type", extra.content_type);
  if (metadata.kind != DocumentNode::Kind::kMap) metadata = map_node();
  put(metadata, "denied_by", denial_node(joint->overall));
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
  if (!extra.headers.empty()) {
    out.append(",\"responseHeadersToAdd\":[");
    bool first = true;
    for (const auto& [name, value] : extra.headers) {
      out.append(first ? "{\"key\":" : ",{\"key\":");
      first = false;
      append_json_string(out, name);
      out.append(",\"value\":");
      append_json_string(out, value);
      out.push_back('}');
    }
    out.push_back(']');
  }
  if (!extra.body.empty()) {
    out.append(",\"rawBody\":\"");
    net::append_base64(out, extra.body);
    out.append((3 - extra.body.size() % 3) % 3, '=');
    out.push_back('"');
  }
  if (metadata.kind == DocumentNode::Kind::kMap) {
    out.append(",\"dynamicMetadata\":");
    sluice::append_json(metadata, out);
  }
  out.push_back('}');
}

}  // namespace sluice::doors

// GET /v1/decisions?tenant_id=&key=&policy_id=&result=&since=&until=&limit=&next=
//
//   {"decisions":[{"at":"2027-01-15T08:00:00.25Z","tenant_id":"shop","key":"ann","policy_id":"api",
//                  "policy_version":3,"limit":"burst","allowed":false,"reason":"limited","cost":1,
//                  "remaining":0,"retry_after_ms":70,"node":"host-1","capacity":10,"degraded":false,
//                  "resource":"/r","dimensions":{},"request_id":"","trace_id":""}],
//    "next":"1800000000250000.17"}
#include <charconv>
#include <optional>

#include "base/text/encode.h"
#include "base/time_units.h"
#include "document/literals.h"
#include "doors/access/caller.h"
#include "doors/access/policy_access.h"
#include "doors/handlers.h"
#include "doors/http/fields/check_field.h"
#include "doors/http/fields/query_string.h"
#include "doors/text.h"
#include "engine/record/decision_record.h"

namespace sluice::doors {
namespace {

constexpr std::size_t kDecisionsUnlessGiven = 100;

struct DecisionsWanted {
  std::optional<std::string_view> tenant_id, key, policy_id, result, since, until, limit, next;
};

Result<DecisionsWanted> read_decisions_wanted(std::string_view query, std::string& scratch) {
  scratch.clear();
  scratch.reserve(query.size());
  DecisionsWanted wanted;
  QueryReader reader(query, scratch);
  while (reader.next()) {
    const std::string_view name = reader.name();
    std::optional<std::string_view>* const into = name == "tenant_id"   ? &wanted.tenant_id
                                                  : name == "key"       ? &wanted.key
                                                  : name == "policy_id" ? &wanted.policy_id
                                                  : name == "result"    ? &wanted.result
                                                  : name == "since"     ? &wanted.since
                                                  : name == "until"     ? &wanted.until
                                                  : name == "limit"     ? &wanted.limit
                                                  : name == "next"      ? &wanted.next
                                                                        : nullptr;
    if (!into)
      return invalid(
          std::string(name),
          "not a parameter here; tenant_id, key, policy_id, result, since, until, limit and next are");
    if (*into) return given_twice(std::string(name));
    *into = reader.value();
  }
  if (!reader.ok()) return invalid("", "the query is malformed");
  return wanted;
}

template <class Number>
bool read_whole(std::string_view text, Number& number) {
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  return error == std::errc() && stop == end;
}

Result<DecisionQuery::Result> read_result(std::string_view text) {
  using enum DecisionQuery::Result;
  if (text.empty()) return kAny;
  if (text == "allowed") return kAllowed;
  if (text == "denied") return kDenied;
  if (text == "degraded") return kDegraded;
  return invalid("result", "must be allowed, denied or degraded");
}

Result<std::int64_t> read_moment(std::string_view field, std::string_view text, std::int64_t unless_given) {
  if (text.empty()) return unless_given;
  const auto instant = parse_instant_us(text);
  if (!instant) return invalid(std::string(field), instant.error());
  return *instant;
}

// "1800000000250000.17": the last decision of the page before.
Result<std::optional<DecisionPlace>> read_next(std::string_view text) {
  if (text.empty()) return std::nullopt;
  DecisionPlace place;
  const std::size_t dot = text.find('.');
  if (dot == text.npos || !read_whole(text.substr(0, dot), place.at_us) ||
      !read_whole(text.substr(dot + 1), place.number))
    return invalid("next", "must be the \"next\" of an earlier answer");
  return place;
}

Result<std::size_t> read_page_size(std::string_view text) {
  std::size_t limit = kDecisionsUnlessGiven;
  if (!text.empty() && (!read_whole(text, limit) || limit < 1 || limit > kDecisionsListedMax))
    return invalid("limit", "must be a number from 1 to " + std::to_string(kDecisionsListedMax));
  return limit;
}

void append_field(std::string& out, std::string_view name, std::string_view text) {
  out.append(",\"").append(name).append("\":");
  append_json_string(out, text);
}

void append_field(std::string& out, std::string_view name, std::int64_t number) {
  out.append(",\"").append(name).append("\":").append(std::to_string(number));
}

void append_field(std::string& out, std::string_view name, bool value) {
  out.append(",\"").append(name).append(value ? "\":true" : "\":false");
}

std::string trace_id_text(const TraceContext& trace) {
  if (trace.trace_id == decltype(trace.trace_id){}) return "";
  return to_hex({reinterpret_cast<const char*>(trace.trace_id.data()), trace.trace_id.size()});
}

void append_decision(const KnownDecision& decision, std::string_view node, std::string& out) {
  out.append("{\"at\":");
  append_json_string(out, instant_text(decision.place.at_us));
  append_field(out, "tenant_id", decision.tenant);
  append_field(out, "key", decision.key);
  append_field(out, "policy_id", decision.policy_id);
  append_field(out, "policy_version", decision.policy_version);
  append_field(out, "limit", decision.limit);
  append_field(out, "allowed", decision.allowed);
  append_field(out, "reason", to_string(decision.reason));
  append_field(out, "cost", decision.cost);
  append_field(out, "remaining", decision.remaining);
  append_field(out, "retry_after_ms", decision.retry_after_ms);
  append_field(out, "node", node);
  append_field(out, "capacity", decision.capacity);
  append_field(out, "degraded", decision.degraded);
  append_field(out, "resource", decision.resource);
  out.append(",\"dimensions\":{");
  for (const auto& dimension : decision.dimensions) {
    if (&dimension != decision.dimensions.data()) out.push_back(',');
    append_json_string(out, dimension.first);
    out.push_back(':');
    append_json_string(out, dimension.second);
  }
  out.push_back('}');
  append_field(out, "request_id", decision.request_id);
  append_field(out, "trace_id", trace_id_text(decision.trace));
  out.push_back('}');
}

}  // namespace

Result<void> http_decisions(DoorContext& context, const Caller& caller, const HttpCall& call) {
  const DecisionsWanted wanted = SLUICE_TRY(read_decisions_wanted(call.request.query, context.scratch));
  DecisionQuery query;
  query.result = SLUICE_TRY(read_result(wanted.result.value_or("")));
  query.since_us = SLUICE_TRY(read_moment("since", wanted.since.value_or(""), INT64_MIN));
  query.until_us = SLUICE_TRY(read_moment("until", wanted.until.value_or(""), INT64_MAX));
  query.before = SLUICE_TRY(read_next(wanted.next.value_or("")));
  const std::size_t page_size = SLUICE_TRY(read_page_size(wanted.limit.value_or("")));
  query.policy_id = wanted.policy_id.value_or("");
  const control::Principal principal = SLUICE_TRY(caller.reader());
  const std::string_view only = wanted.tenant_id.value_or("");
  if (!only.empty()) SLUICE_TRY(principal.may(control::Role::kRead, only));
  if (!query.policy_id.empty()) {
    const auto may = may_read_policy(context, principal, query.policy_id);
    // A policy that is gone still has decisions, for those who may read all.
    if (!may && may.error().code != ErrorCode::kPolicyNotFound) return std::unexpected(may.error());
  }
  if (!context.admit_read(principal, call.reply.response)) return {};
  query.of_tenant = [&](std::string_view tenant) {
    if (!only.empty()) return tenant == only;
    return principal.tenants.empty() || (!tenant.empty() && principal.sees_tenant(tenant));
  };
  const DecisionRecord& record = *context.options.decisions;
  if (const std::string_view key = wanted.key.value_or(""); !key.empty())
    query.key_hash = record.hash_of_key(key);
  query.most = page_size + 1;  // one more tells whether there is another page
  std::string& out = call.reply.response.body;
  out.append("{\"decisions\":[");
  std::size_t listed = 0;
  std::string next;
  const std::vector<KnownDecision> found = record.list(query);
  for (const KnownDecision& decision : found) {
    if (listed == page_size || out.size() > kDecisionPageBytesMax) {
      const DecisionPlace& last = found[listed - 1].place;
      next = std::to_string(last.at_us) + '.' + std::to_string(last.number);
      break;
    }
    if (listed++ > 0) out.push_back(',');
    append_decision(decision, context.options.node_name, out);
  }
  out.append("],\"next\":");
  append_json_string(out, next);
  out.push_back('}');
  return {};
}

}  // namespace sluice::doors

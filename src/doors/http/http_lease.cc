// POST /v1/lease and /v1/lease/return: the HTTP forms of Lease and ReturnLease. GET /v1/leases.
//
//   {"policy_id":"api.read","key":"u1","want":100}
//   {"lease_id":"02…","granted":100,"expires_unix_ms":1734567890123,"expires_after_ms":10000,"refresh_after_ms":1000,
//    "safe_capacity":600,"retry_after_ms":0,"policy_version":"api.read#47","replayed":false}
//   {"lease_id":"02…","unused":15}
//   {}
#include "doors/check/lease_answer.h"
#include "doors/handlers.h"
#include "doors/http/fields/check_json.h"
#include "doors/http/fields/query_string.h"
#include "doors/http/problem.h"
#include "doors/text.h"

namespace sluice::doors {
namespace {

constexpr std::size_t kLeasesPerPage = 1000;

void append_number(std::string& out, const char* name, std::int64_t number) {
  out.append(",\"").append(name).append("\":").append(std::to_string(number));
}

void append_text(std::string& out, const char* name, std::string_view text) {
  out.append(",\"").append(name).append("\":");
  append_json_string(out, text);
}

void write_lease(const Result<Lease>& lease, net::HttpResponse& response) {
  if (!lease) return write_problem(lease.error(), response);
  std::string& out = response.body;
  out.append("{\"lease_id\":");
  append_json_string(out, lease->id);
  append_number(out, "granted", lease->granted);
  append_number(out, "expires_unix_ms", lease->expires_unix_ms);
  append_number(out, "expires_after_ms", lease->expires_after_ms);
  append_number(out, "refresh_after_ms", lease->refresh_after_ms);
  append_number(out, "safe_capacity", lease->safe_capacity);
  append_number(out, "retry_after_ms", lease->retry_after_ms);
  append_text(out, "policy_version", lease->policy_version);
  append_number(out, "check_cost", lease->check_cost);
  out.append(",\"replayed\":").append(lease->replayed ? "true}" : "false}");
}

void write_returned(const Result<void>& returned, net::HttpResponse& response) {
  if (!returned) return write_problem(returned.error(), response);
  response.body.append("{}");
}

struct LeasesWanted {
  std::string_view tenant, policy_id;
};

Result<LeasesWanted> read_wanted(std::string_view query, std::string& scratch) {
  scratch.clear();
  scratch.reserve(query.size());
  LeasesWanted wanted;
  QueryReader reader(query, scratch);
  while (reader.next()) {
    if (reader.name() == "tenant_id")
      wanted.tenant = reader.value();
    else if (reader.name() == "policy_id")
      wanted.policy_id = reader.value();
    else
      return invalid(std::string(reader.name()), "not a parameter here; tenant_id and policy_id are");
  }
  if (!reader.ok()) return invalid("", "the query is malformed");
  return wanted;
}

}  // namespace

Result<void> http_lease(DoorContext& context, const Caller& caller, const HttpCall& call) {
  context.checks.clear();
  SLUICE_TRY(read_lease(call.request.body, context.scratch, context.checks, context.check_rules()));
  const std::string_view key = SLUICE_TRY(only_one(call.request, kKeyHeader));
  return answer_lease(context, caller, call.reply, context.checks.finish().front(), key, write_lease);
}

Result<void> http_return_lease(DoorContext& context, const Caller& caller, const HttpCall& call) {
  const LeaseReturn lease = SLUICE_TRY(read_lease_return(call.request.body, context.scratch));
  return answer_return(context, caller, call.reply, lease.lease_id, lease.unused, write_returned);
}

// The leases that this node has granted.
Result<void> http_leases(DoorContext& context, const Caller& caller, const HttpCall& call) {
  const LeasesWanted wanted = SLUICE_TRY(read_wanted(call.request.query, context.scratch));
  CheckRequest wish;
  wish.tenant = wanted.tenant;
  wish.policy_id = wanted.policy_id;
  SLUICE_TRY(caller.permit({&wish, 1}));
  const std::string_view tenant = wish.tenant;  // or the one that the policy implies
  if (!context.admit_read(SLUICE_TRY(caller.reader()), call.reply.response)) return {};
  std::string& out = call.reply.response.body;
  const auto leases =
      context.options.leases->list(tenant, wanted.policy_id, kLeasesPerPage, context.options.clock->now_us());
  out.append("{\"leases\":[");
  for (const LeaseBook::Entry& lease : leases) {
    out.append(&lease == leases.data() ? "{\"lease_id\":" : ",{\"lease_id\":");
    append_json_string(out, lease.name);
    append_text(out, "tenant_id", lease.tenant);
    append_text(out, "policy_id", lease.policy_id);
    append_text(out, "policy_version", lease.policy_version);
    append_text(out, "resource", lease.resource);
    append_number(out, "granted", lease.granted);
    append_number(out, "expires_unix_ms", lease.expires_unix_ms);
    out.push_back('}');
  }
  out.append("]}");
  return {};
}

}  // namespace sluice::doors

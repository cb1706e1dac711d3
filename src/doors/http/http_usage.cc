// GET /v1/usage and POST /v1/reset: the HTTP forms of GetUsage and ResetKey.
//
//   {"usages":[{"quota":{"name":"burst","per":["tenant"],"limit":100,"period_ms":1000,"algorithm":"gcra"},
//               "current":6,"remaining":14,"reset_unix_ms":1734567890123,"state":"normal"}]}
//   {"reset":2}
#include "base/arith.h"
#include "doors/access/caller.h"
#include "doors/check/late_answer.h"
#include "doors/handlers.h"
#include "doors/http/fields/check_json.h"
#include "doors/http/fields/check_query.h"
#include "doors/http/problem.h"
#include "doors/text.h"

namespace sluice::doors {
namespace {

Result<void> read_question(DoorContext& context, const net::HttpRequest& request) {
  context.checks.clear();
  context.scratch.clear();
  context.scratch.reserve(request.query.size());
  CheckBuilder check(context.checks, context.scratch);
  return read_query(request.query, context.scratch, check);
}

void append_names(std::string& out, const std::vector<std::string>& names) {
  out.push_back('[');
  for (const std::string& name : names) {
    if (&name != names.data()) out.push_back(',');
    append_json_string(out, name);
  }
  out.push_back(']');
}

void append_quota(std::string& out, const LimitStatus& status) {
  out.append("{\"name\":");
  append_json_string(out, status.limit->name());
  out.append(",\"per\":");
  append_names(out, status.limit->per());
  out.append(",\"limit\":").append(std::to_string(status.numbers->rate.count));
  out.append(",\"period_ms\":").append(std::to_string(ceil_div(status.numbers->rate.period_us, 1000)));
  out.append(",\"algorithm\":");
  append_json_string(out, to_string(status.numbers->algorithm));
  out.push_back('}');
}

void append_usage(std::string& out, const LimitStatus& status, std::int64_t now_us) {
  const Outcome& outcome = status.result->outcome;
  out.append("{\"quota\":");
  append_quota(out, status);
  out.append(",\"current\":").append(std::to_string(status.current()));
  out.append(",\"remaining\":").append(std::to_string(outcome.remaining));
  out.append(",\"reset_unix_ms\":").append(std::to_string(ceil_div(now_us + outcome.reset_after_us, 1000)));
  out.append(",\"state\":");
  append_json_string(out, to_string(status.result->pressure));
  out.push_back('}');
}

void write_usages(const Result<Decision>& usage, net::HttpResponse& response) {
  if (!usage) return write_problem(usage.error(), response);
  response.body.append("{\"usages\":[");
  for (const LimitStatus& status : usage->limits) {
    if (&status != usage->limits.data()) response.body.push_back(',');
    append_usage(response.body, status, usage->now_us);
  }
  response.body.append("]}");
}

}  // namespace

// The query has the fields of a check; every other name is a dimension. Charges nothing.
Result<void> http_usage(DoorContext& context, const Caller& caller, const HttpCall& call) {
  SLUICE_TRY(read_question(context, call.request));
  CheckRequest& check = context.checks.finish().front();
  SLUICE_TRY(require_fields(check, context.check_rules()));
  const Permit permit = SLUICE_TRY(caller.permit({&check, 1}));
  answer(
      call.reply, [&](const auto& postpone) { return context.engine.usage(permit, check, postpone); },
      write_usages);
  return {};
}

// The body has the fields of a check, and a `reason`.
Result<void> http_reset(DoorContext& context, const Caller& caller, const HttpCall& call) {
  context.checks.clear();
  ResetWish wish;
  SLUICE_TRY(read_reset(call.request.body, context.scratch, context.checks, context.check_rules(), wish));
  CheckRequest& check = context.checks.finish().front();
  AllowedReset allowed = SLUICE_TRY(caller.permit_reset(check, wish.reason));
  allowed.reach.shared = wish.shared.value_or(false);
  answer_recorded(
      context, call.reply,
      [&](const auto& postpone) {
        return context.engine.reset(allowed.permit, check, allowed.reach, postpone);
      },
      [&context, report = std::move(allowed.report)](const Result<int>& existed) {
        return report_reset(context.options, report, existed);
      },
      [](const Result<int>& existed, net::HttpResponse& out) {
        if (!existed) return write_problem(existed.error(), out);
        out.body.append("{\"reset\":").append(std::to_string(*existed)).append("}");
      });
  return {};
}

}  // namespace sluice::doors

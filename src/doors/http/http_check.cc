// POST /v1/ratelimit/check and /v1/ratelimit/check-batch. A denial has status 200, like any other answer.
#include "doors/access/caller.h"
#include "doors/check/batch_answers.h"
#include "doors/check/late_answer.h"
#include "doors/grpc/field_names.h"
#include "doors/handlers.h"
#include "doors/http/fields/check_json.h"
#include "doors/http/fields/only_one.h"
#include "doors/http/problem.h"

namespace sluice::doors {
namespace {

void write_one(const Result<Decision>& decision, bool is_first, std::string& out) {
  if (!is_first) out.push_back(',');
  if (decision) return append_answer(*decision, out);
  out.append("{\"allowed\":false,\"error\":");
  append_problem(decision.error(), out);
  out.push_back('}');
}

void write_all(const Result<std::string>& answers, net::HttpResponse& out) {
  if (!answers) return write_problem(answers.error(), out);
  out.body.append("{\"results\":[").append(*answers).append("]}");
}

}  // namespace

Result<void> http_check(DoorContext& context, const Caller& caller, const HttpCall& call) {
  CheckList& checks = context.checks;
  checks.clear();
  SLUICE_TRY(read_check(call.request.body, context.scratch, checks, context.check_rules()));
  CheckRequest check = checks.finish().front();
  const std::string_view key = SLUICE_TRY(only_one(call.request, kKeyHeader));
  const bool by_header = check.request_id.empty();
  if (by_header) check.request_id = key;
  const Permit permit = SLUICE_TRY(caller.permit({&check, 1}));
  SLUICE_TRY(context.gate.admit(1));
  answer(
      call.reply, [&](const auto& postpone) { return context.engine.check(permit, check, postpone); },
      [&context, by_header](const Result<Decision>& decision, net::HttpResponse& out) {
        if (!decision)
          return write_problem(by_header ? about_key_header(decision.error()) : decision.error(), out);
        append_answer(*decision, out.body);
        context.headers.add(*decision, out);
      });
  return {};
}

Result<void> http_check_batch(DoorContext& context, const Caller& caller, const HttpCall& call) {
  context.checks.clear();
  SLUICE_TRY(read_check_batch(call.request.body, context.scratch, context.checks, context.check_rules()));
  const std::span<CheckRequest> checks = context.checks.finish();
  const Permit permit = SLUICE_TRY(caller.permit(checks));
  SLUICE_TRY(context.gate.admit(checks.size()));
  answer(
      call.reply,
      [&](const auto& postpone) { return check_all(context.engine, permit, checks, write_one, postpone); },
      write_all);
  return {};
}

}  // namespace sluice::doors

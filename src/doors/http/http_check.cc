#include "doors/http/http_check.h"

#include "doors/batch_answers.h"
#include "doors/grpc/field_names.h"
#include "doors/http/check_json.h"
#include "doors/http/only_one.h"
#include "doors/http/problem.h"
#include "doors/limit_owner.h"

namespace sluice::doors {
namespace {

void write_one(const Result<Decision>& decision, bool is_first, std::string& out) {
  if (!is_first) out.push_back(',');
  if (decision) return append_answer(*decision, out);
  out.append("{\"allowed\":false,\"error\":");
  append_problem(decision.error(), out);
  out.push_back('}');
}

void write_all(std::string_view answers, net::HttpResponse& response) {
  response.body.append("{\"results\":[").append(answers).append("]}");
}

}  // namespace

void http_check(DoorContext& context, const net::HttpRequest& request, net::HttpResponse& response,
                const HttpDefer& defer) {
  CheckList& checks = context.checks;
  checks.clear();
  if (auto read = read_check(request.body, context.scratch, checks, context.check_rules()); !read)
    return write_problem(read.error(), response);
  CheckRequest check = checks.finish().front();
  const auto key = only_one(request, kKeyHeader);
  if (!key) return write_problem(key.error(), response);
  const bool by_header = check.request_id.empty();
  if (by_header) check.request_id = *key;
  if (auto may = may_check(context, request, {&check, 1}); !may) return write_problem(may.error(), response);
  if (auto room = context.gate.admit(1); !room) return write_problem(room.error(), response);
  answer_http([&](const auto& postpone) { return context.limiter.check(check, postpone); }, response, defer,
              [&context, by_header](const Result<Decision>& decision, net::HttpResponse& out) {
                if (!decision)
                  return write_problem(by_header ? about_key_header(decision.error()) : decision.error(),
                                       out);
                append_answer(*decision, out.body);
                context.headers.add(*decision, out);
              });
}

void http_check_batch(DoorContext& context, const net::HttpRequest& request, net::HttpResponse& response,
                      const HttpDefer& defer) {
  context.checks.clear();
  if (auto read = read_check_batch(request.body, context.scratch, context.checks, context.check_rules());
      !read)
    return write_problem(read.error(), response);
  const std::span<CheckRequest> checks = context.checks.finish();
  if (auto may = may_check(context, request, checks); !may) return write_problem(may.error(), response);
  if (auto room = context.gate.admit(checks.size()); !room) return write_problem(room.error(), response);
  const auto answers = check_all(context.limiter, checks, write_one, [&] {
    return [later = defer()](const Result<std::string>& late) {
      net::HttpResponse answer;
      late ? write_all(*late, answer) : write_problem(late.error(), answer);
      later(std::move(answer));
    };
  });
  if (!answers) return;
  if (!*answers) return write_problem(answers->error(), response);
  write_all(**answers, response);
}

}  // namespace sluice::doors

#include "doors/http_check.h"

#include "doors/check_field.h"
#include "doors/check_json.h"
#include "doors/problem.h"

namespace sluice::doors {

void http_check(DoorContext& context, const net::HttpRequest& request, net::HttpResponse& response) {
  CheckList& checks = context.checks;
  checks.clear();
  if (auto read = read_check(request.body, context.scratch, checks); !read)
    return write_problem(read.error(), response);
  CheckRequest check = checks.finish().front();
  if (check.request_id.empty()) check.request_id = request.header("x-idempotency-key");
  const auto decision = context.limiter.check(check);
  if (!decision) return write_problem(decision.error(), response);
  append_answer(*decision, response.body);
  context.headers.add(*decision, response);
}

void http_check_batch(DoorContext& context, const net::HttpRequest& request, net::HttpResponse& response) {
  context.checks.clear();
  if (auto read = read_check_batch(request.body, context.scratch, context.checks); !read)
    return write_problem(read.error(), response);
  const std::span<const CheckRequest> checks = context.checks.finish();
  const Limiter::Hold hold(context.limiter);
  for (std::size_t i = 0; i < checks.size(); ++i)
    if (auto valid = context.limiter.validate(checks[i]); !valid)
      return write_problem(in_batch(i, std::move(valid.error())), response);

  response.body.append("{\"results\":[");
  for (std::size_t i = 0; i < checks.size(); ++i) {
    const auto decision = context.limiter.check(checks[i]);
    // It was valid a moment ago, under the same policies: only a defect of ours gets here.
    if (!decision) return write_problem(in_batch(i, decision.error()), response);
    if (i != 0) response.body.push_back(',');
    append_answer(*decision, response.body);
  }
  response.body.append("]}");
}

}  // namespace sluice::doors

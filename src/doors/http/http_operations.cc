// Endpoints for load balancers and Prometheus.
#include "doors/access/caller.h"
#include "doors/door_context.h"
#include "doors/handlers.h"
#include "doors/text.h"
#include "telemetry/prometheus.h"

namespace sluice::doors {
namespace {

std::string without_policies(std::string_view page) {
  std::string text;
  text.reserve(page.size());
  while (!page.empty()) {
    const std::string_view line = page.substr(0, page.find('\n') + 1);
    if (line.starts_with('#') || !(line.contains("policy=\"") || line.contains("owner=\"")))
      text.append(line);
    page.remove_prefix(line.size());
  }
  return text;
}

bool wants_open_metrics(const HttpCall& call) {
  return call.request.header("accept").contains("application/openmetrics-text");
}

}  // namespace

// 200 as long as the process serves, whatever else is wrong.
Result<void> http_healthz(DoorContext&, const Caller&, const HttpCall& call) {
  call.reply.response.body.append("{\"status\":\"ok\"}");
  return {};
}

// 200 if the node wants traffic, else 503. Both list what an operator should know: {"problems":["…"]}. Where
// checks need a token, only callers with a token of the role `read` see the problems.
Result<void> http_readyz(DoorContext& context, const Caller& caller, const HttpCall& call) {
  Readiness readiness = context.options.readiness();
  if (!readiness.problems.empty() && context.options.checks_need_token && !caller.may_read_everything())
    readiness.problems = {"there are problems; use a token with the role read to see them"};
  call.reply.response.status = readiness.ready ? 200 : 503;
  std::string& body = call.reply.response.body;
  body.append("{\"ready\":").append(readiness.ready ? "true" : "false");
  body.append(",\"draining\":").append(readiness.draining ? "true" : "false");
  body.append(",\"degraded\":").append(readiness.degraded ? "true" : "false");
  body.append(",\"problems\":[");
  for (const std::string& problem : readiness.problems) {
    if (&problem != readiness.problems.data()) body.push_back(',');
    append_json_string(body, problem);
  }
  body.append("]}");
  return {};
}

// The same for users of envoyproxy/ratelimit: 200 with "OK", else 503.
Result<void> http_healthcheck(DoorContext& context, const Caller&, const HttpCall& call) {
  net::HttpResponse& response = call.reply.response;
  const bool ready = context.options.readiness().ready;
  response.status = ready ? 200 : 503;
  response.content_type = "text/plain; charset=utf-8";
  response.body = ready ? "OK" : "not ready; /readyz says why\n";
  return {};
}

// Samples that name a policy are shown only to callers who may read all policies, unless the operator shows
// them to everyone.
Result<void> http_metrics(DoorContext& context, const Caller& caller, const HttpCall& call) {
  net::HttpResponse& response = call.reply.response;
  response.content_type = "text/plain; version=0.0.4; charset=utf-8";
  response.body = context.options.metrics();
  if (!context.options.metrics_name_policies && !caller.may_read_everything())
    response.body = without_policies(response.body);
  if (!wants_open_metrics(call)) return {};
  response.content_type = "application/openmetrics-text; version=1.0.0; charset=utf-8";
  response.body = PrometheusText::as_open_metrics(response.body);
  return {};
}

}  // namespace sluice::doors

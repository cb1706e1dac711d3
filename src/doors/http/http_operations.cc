// Endpoints for load balancers and Prometheus.
#include "doors/access/caller.h"
#include "doors/door_context.h"
#include "doors/handlers.h"
#include "doors/text.h"
#include "telemetry/prometheus.h"

namespace sluice::doors {
namespace {

bool names_something(std::string_view sample) {
  return sample.contains("policy=\"") || sample.contains("owner=\"") || sample.contains("node=\"");
}

std::string without_names(std::string_view page) {
  std::string text;
  while (!page.empty()) {
    const std::string_view line = page.substr(0, page.find('\n') + 1);
    if (line.starts_with('#') || !names_something(line)) text.append(line);
    page.remove_prefix(line.size());
  }
  return text;
}

// The page takes time to make, 26 ms with 10,000 policies. So strangers get one that may be a second old.
const std::string& page_for_strangers(DoorContext& context) {
  constexpr std::int64_t kMadeEveryUs = 1'000'000;
  StrangersMetrics& kept = context.strangers_metrics;
  const std::int64_t now_us = context.options.clock->now_us();
  if (!kept.page.empty() && now_us - kept.made_at_us < kMadeEveryUs) return kept.page;
  kept.page = without_names(context.options.metrics());
  kept.made_at_us = now_us;
  return kept.page;
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

// 200 if the node wants traffic, else 503. Both list what an operator should know: {"problems":["…"]}. They
// name policies, files and servers, so only callers who may read everything see them.
Result<void> http_readyz(DoorContext& context, const Caller& caller, const HttpCall& call) {
  Readiness readiness = context.options.readiness();
  if (!readiness.problems.empty() && !caller.may_read_everything())
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

// Samples that name a policy, an owner or a server are shown only to callers who may read everything, unless
// the operator shows them to everyone.
Result<void> http_metrics(DoorContext& context, const Caller& caller, const HttpCall& call) {
  net::HttpResponse& response = call.reply.response;
  response.content_type = "text/plain; version=0.0.4; charset=utf-8";
  const bool shows_all = context.options.metrics_name_policies || caller.may_read_everything();
  response.body = shows_all ? context.options.metrics() : page_for_strangers(context);
  if (!wants_open_metrics(call)) return {};
  response.content_type = "application/openmetrics-text; version=1.0.0; charset=utf-8";
  response.body = PrometheusText::as_open_metrics(response.body);
  return {};
}

}  // namespace sluice::doors

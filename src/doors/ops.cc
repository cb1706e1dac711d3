#include "doors/ops.h"

#include "doors/http/other_site.h"
#include "doors/text.h"

namespace sluice::doors {
namespace {

// Every peer of a trusted port, and callers with a token or certificate with the role `read` for all tenants.
bool may_read_everything(DoorContext& context, const net::HttpRequest& request) {
  if (!context.access) return true;
  const auto who = context.access->who(peer_of(request), request.header("authorization"));
  if (!who || !who->may(control::Role::kRead, "")) return false;
  request.peer->recognise();
  return true;
}

std::string without_policies(std::string_view page) {
  std::string text;
  text.reserve(page.size());
  while (!page.empty()) {
    const std::string_view line = page.substr(0, page.find('\n') + 1);
    if (line.starts_with('#') || !line.contains("policy=\"")) text.append(line);
    page.remove_prefix(line.size());
  }
  return text;
}

}  // namespace

void http_healthz(net::HttpResponse& response) { response.body.append("{\"status\":\"ok\"}"); }

void http_readyz(DoorContext& context, const net::HttpRequest& request, net::HttpResponse& response) {
  const DoorOptions& options = context.options;
  Readiness readiness = options.readiness();
  if (!readiness.problems.empty() && options.checks_need_token && !may_read_everything(context, request))
    readiness.problems = {"there are problems; use a token with the role read to see them"};
  response.status = readiness.ready ? 200 : 503;
  std::string& body = response.body;
  body.append("{\"ready\":").append(readiness.ready ? "true" : "false");
  body.append(",\"draining\":").append(readiness.draining ? "true" : "false");
  body.append(",\"degraded\":").append(readiness.degraded ? "true" : "false");
  body.append(",\"problems\":[");
  for (const std::string& problem : readiness.problems) {
    if (&problem != readiness.problems.data()) body.push_back(',');
    append_json_string(body, problem);
  }
  body.append("]}");
}

void http_healthcheck(const DoorOptions& options, net::HttpResponse& response) {
  const bool ready = options.readiness().ready;
  response.status = ready ? 200 : 503;
  response.content_type = "text/plain; charset=utf-8";
  response.body = ready ? "OK" : "not ready; /readyz says why\n";
}

void http_metrics(DoorContext& context, const net::HttpRequest& request, net::HttpResponse& response) {
  response.content_type = "text/plain; version=0.0.4; charset=utf-8";
  response.body = context.options.metrics();
  if (!context.options.metrics_name_policies && !may_read_everything(context, request))
    response.body = without_policies(response.body);
}

}  // namespace sluice::doors

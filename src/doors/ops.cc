#include "doors/ops.h"

#include "doors/text.h"

namespace sluice::doors {

void http_healthz(net::HttpResponse& response) { response.body.append("{\"status\":\"ok\"}"); }

void http_readyz(const DoorOptions& options, net::HttpResponse& response) {
  const Readiness readiness = options.readiness();
  response.status = readiness.ready ? 200 : 503;
  std::string& body = response.body;
  body.append("{\"ready\":").append(readiness.ready ? "true" : "false");
  body.append(",\"draining\":").append(readiness.draining ? "true" : "false");
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

void http_metrics(const DoorOptions& options, net::HttpResponse& response) {
  response.content_type = "text/plain; version=0.0.4; charset=utf-8";
  response.body = options.metrics();
}

}  // namespace sluice::doors

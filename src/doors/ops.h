#pragma once

#include "doors/door_context.h"
#include "net/http/http_api.h"

// Endpoints for load balancers and Prometheus.
namespace sluice::doors {

// 200 as long as the process serves, whatever else is wrong.
void http_healthz(net::HttpResponse& response);
// 200 if the node wants traffic, else 503. Both list what an operator should know: {"problems":["…"]}. Where
// checks need a token, only callers with a token of the role `read` see the problems.
void http_readyz(DoorContext& context, const net::HttpRequest& request, net::HttpResponse& response);
// The same for users of envoyproxy/ratelimit: 200 with "OK", else 503.
void http_healthcheck(const DoorOptions& options, net::HttpResponse& response);
// Samples that name a policy are shown only to callers who may read all policies, unless the operator shows
// them to everyone.
void http_metrics(DoorContext& context, const net::HttpRequest& request, net::HttpResponse& response);

}  // namespace sluice::doors

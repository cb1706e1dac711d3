#pragma once

#include "doors/door_context.h"
#include "net/http_api.h"

// What load balancers and Prometheus ask for.
namespace sluice::doors {

// 200 while the process serves, whatever else is wrong.
void http_healthz(net::HttpResponse& response);
// 200 if the node wants traffic, else 503; either way with what an operator should know: {"problems":["…"]}.
// Where checks need a token, only who has one with the role read gets to know that much.
void http_readyz(const DoorOptions& options, const net::HttpRequest& request, net::HttpResponse& response);
// The same under the name that envoyproxy/ratelimit's users know: 200 with "OK", else 503.
void http_healthcheck(const DoorOptions& options, net::HttpResponse& response);
// Samples that name a policy are for those who may read all policies, unless the operator wants it otherwise.
void http_metrics(const DoorOptions& options, const net::HttpRequest& request, net::HttpResponse& response);

}  // namespace sluice::doors

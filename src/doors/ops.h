#pragma once

#include "doors/door_context.h"
#include "net/http_api.h"

// What load balancers and Prometheus ask for.
namespace sluice::doors {

// 200 while the process serves, whatever else is wrong.
void http_healthz(net::HttpResponse& response);
// 200 if the node wants traffic, else 503; either way with what an operator should know: {"problems":["…"]}.
void http_readyz(const DoorOptions& options, net::HttpResponse& response);
// The same under the name that envoyproxy/ratelimit's users know: 200 with "OK", else 503.
void http_healthcheck(const DoorOptions& options, net::HttpResponse& response);
void http_metrics(const DoorOptions& options, net::HttpResponse& response);

}  // namespace sluice::doors

#pragma once

#include <string>
#include <vector>

#include "doors/door_context.h"
#include "doors/grpc/grpc_rate_limiter.h"
#include "doors/late_answer.h"
#include "net/http/http_api.h"

// Envoy's rate limit service, envoy.service.ratelimit.v3.RateLimitService, and the same as JSON over HTTP.
// docs/envoy.md explains how requests are interpreted.
namespace sluice::doors {

net::GrpcStatus grpc_should_rate_limit(DoorContext& context, const GrpcCall& call);

// POST /json: 200 if all descriptors are within their limits, 429 if not, 503 if denied because the store did
// not answer.
void http_envoy_json(DoorContext& context, const net::HttpRequest& request, net::HttpResponse& response,
                     const HttpDefer& defer);

}  // namespace sluice::doors

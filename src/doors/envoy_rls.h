#pragma once

#include <string>
#include <vector>

#include "doors/door_context.h"
#include "doors/grpc_rate_limiter.h"
#include "doors/late_answer.h"
#include "net/http_api.h"

// Envoy's rate limit service, envoy.service.ratelimit.v3.RateLimitService, and the same as JSON over HTTP.
// docs/envoy.md says what a request means here.
namespace sluice::doors {

net::GrpcStatus grpc_should_rate_limit(DoorContext& context, const GrpcCall& call);

// POST /json: 200 if all is within its limits, 429 if not, 503 if that is for want of an answer from the
// store.
void http_envoy_json(DoorContext& context, const net::HttpRequest& request, net::HttpResponse& response,
                     const HttpDefer& defer);

}  // namespace sluice::doors

#pragma once

#include "doors/door_context.h"
#include "doors/late_answer.h"
#include "net/http/http_api.h"

// POST /v1/ratelimit/check and /v1/ratelimit/check-batch. A denial has status 200, like any other answer.
namespace sluice::doors {

void http_check(DoorContext& context, const net::HttpRequest& request, net::HttpResponse& response,
                const HttpDefer& defer);
void http_check_batch(DoorContext& context, const net::HttpRequest& request, net::HttpResponse& response,
                      const HttpDefer& defer);

}  // namespace sluice::doors

#pragma once

#include "doors/door_context.h"
#include "doors/late_answer.h"
#include "net/http/http_api.h"

// GET /v1/usage and POST /v1/reset: the HTTP forms of GetUsage and ResetKey.
//
//   {"usages":[{"quota":{"name":"burst","per":["tenant"],"limit":100,"period_ms":1000,"algorithm":"gcra"},
//               "current":6,"remaining":14,"reset_unix_ms":1734567890123,"state":"normal"}]}
//   {"reset":2}
namespace sluice::doors {

// The query has the fields of a check; every other name is a dimension. Charges nothing.
void http_usage(DoorContext& context, const net::HttpRequest& request, net::HttpResponse& response,
                const HttpDefer& defer);
// The body has the fields of a check, and a `reason`.
void http_reset(DoorContext& context, const net::HttpRequest& request, net::HttpResponse& response,
                const HttpDefer& defer);

}  // namespace sluice::doors

#pragma once

#include "doors/door_context.h"
#include "doors/late_answer.h"
#include "net/http_api.h"

// /v1/authorize, for proxies that ask before they pass a request on (nginx auth_request, Traefik ForwardAuth,
// Caddy forward_auth): the answer is the status. Any method will do, since proxies forward the client's.
//
// Where the check comes from, the first source that has a field wins:
//   1. the query, which the proxy's configuration writes: policy_id, tenant_id, resource, key, tokens,
//      request_id; any other name is a dimension
//   2. from a trusted proxy only, X-Sluice-Tenant, -Resource, -Key, -Policy, -Tokens (or -Cost), -Request-Id;
//      any other, like X-Sluice-Api-Key, is a dimension: api_key
//   3. from a trusted proxy only, the dimension `ip` by X-Forwarded-For, `method` by X-Forwarded-Method, and
//      the resource by the path of X-Forwarded-Uri or X-Original-URI, decoded and without "//", "." and ".."
//   4. the dimension `ip` by the peer's address
//
// Most proxies pass on what headers their client sent. Two headers that mean the same field are therefore
// refused: one of them may be the client's, and nobody can tell which. X-Idempotency-Key is the client's,
// too, and who sends the same one for ever would be charged once: it is the request_id only if the operator
// says that his proxy sets or clears it, and otherwise the answer says (X-Sluice-Warning) that it was not
// read.
namespace sluice::doors {

// 200 with the check's answer, or `deny_status` with a problem; both with rate limit headers. Denied for lack
// of the store: 503 with Retry-After (a local limiter's denial is one like any other).
//
// With "Prefer: return=minimal" 204 instead of 200: most proxies do not read the body of an answer that lets
// a request pass, and have to close a connection with unread bytes on it.
void http_authorize(DoorContext& context, const net::HttpRequest& request, net::HttpResponse& response,
                    const HttpDefer& defer);

}  // namespace sluice::doors

#pragma once

#include "doors/door_context.h"
#include "doors/late_answer.h"
#include "net/http/http_api.h"

// /v1/authorize, for proxies that ask before they pass a request on (nginx auth_request, Traefik ForwardAuth,
// Caddy forward_auth): the status is the answer. Every method is accepted, since proxies forward the
// client's.
//
// Where the fields of the check come from (the first source that has a field wins):
//   1. the query, which the proxy's configuration writes: policy_id, tenant_id, resource, key, tokens,
//      request_id; any other name is a dimension
//   2. from a trusted proxy only, X-Sluice-Tenant, -Resource, -Key, -Policy, -Tokens (or -Cost), -Request-Id;
//      any other, like X-Sluice-Api-Key, is a dimension: api_key
//   3. from a trusted proxy only, the dimension `ip` from X-Forwarded-For, `method` from X-Forwarded-Method,
//      and the resource from the path of X-Forwarded-Uri or X-Original-URI, decoded and normalized (without
//      "//", "." and "..")
//   4. the dimension `ip` from the peer's address
//
// Most proxies pass on the headers that their client sent. Therefore two headers that mean the same field are
// refused: one of them may be the client's, and it is impossible to tell which. X-Idempotency-Key comes from
// the client, too, and a client that always sends the same key would be charged only once. So it is the
// request_id only if the operator has configured that their proxy sets or clears it. Otherwise it is ignored,
// and the answer says so (X-Sluice-Warning).
namespace sluice::doors {

// 200 with the check's answer, or `deny_status` with a problem document; both with rate limit headers. If the
// check is denied because the store does not answer: 503 with Retry-After. A denial by the local limiter is
// like any other denial.
//
// With "Prefer: return=minimal", 204 instead of 200: most proxies do not read the body of an answer that lets
// a request pass, and have to close a connection that has unread bytes on it.
void http_authorize(DoorContext& context, const net::HttpRequest& request, net::HttpResponse& response,
                    const HttpDefer& defer);

}  // namespace sluice::doors

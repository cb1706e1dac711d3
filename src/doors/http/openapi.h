#pragma once

#include <string_view>

#include "net/http/http_api.h"

// The description of the whole HTTP API for tools and people: docs/openapi.yaml as it was when this binary
// was built. Tests verify that it matches the server.
namespace sluice::doors {

std::string_view embedded_openapi();

// GET /openapi.yaml. May be cached: a request with a current ETag (If-None-Match) gets a 304.
void http_openapi(const net::HttpRequest& request, net::HttpResponse& response);

}  // namespace sluice::doors

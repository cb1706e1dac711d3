#pragma once

#include <string_view>

#include "net/http_api.h"

// The description of the whole HTTP API for tools and people: docs/openapi.yaml, as it was when this program
// was built. Tests prove that it and the server agree.
namespace sluice::doors {

std::string_view embedded_openapi();

// GET /openapi.yaml. May be cached; a client that names the ETag of its copy (If-None-Match) gets a 304.
void http_openapi(const net::HttpRequest& request, net::HttpResponse& response);

}  // namespace sluice::doors

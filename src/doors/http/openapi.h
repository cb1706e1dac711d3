#pragma once

#include <string_view>

// The description of the whole HTTP API for tools and people: docs/openapi.yaml as it was when this binary
// was built. Tests verify that it matches the server.
namespace sluice::doors {

std::string_view embedded_openapi();

}  // namespace sluice::doors

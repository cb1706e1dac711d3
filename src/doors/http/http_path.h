#pragma once

#include <string_view>

namespace sluice::doors {

// A path of the HTTP API and the methods it accepts. A plain value.
struct HttpPath {
  std::string_view path;     // "/v1/rules/*"; a star stands for one segment
  std::string_view methods;  // as in an Allow header: "GET, HEAD"; empty: any
};

}  // namespace sluice::doors

#pragma once

#include <string>
#include <string_view>

#include "doors/check_field.h"
#include "net/http_api.h"

namespace sluice::doors {

// The value of a header of which there must be one at most; "" if there is none. Of two, somebody on the way
// may have added one, and nobody can tell which counts: kInvalidArgument, which names it. REQUIRES: name is
// lower case.
inline Result<std::string_view> only_one(const net::HttpRequest& request, std::string_view name) {
  std::string_view value;
  bool seen = false;
  for (const net::Header& header : request.headers) {
    if (header.name != name) continue;
    if (seen) return given_twice(std::string(name));
    seen = true;
    value = header.value;
  }
  return value;
}

}  // namespace sluice::doors

#pragma once

#include <string>
#include <string_view>

#include "doors/http/fields/check_field.h"
#include "net/http/http_api.h"

namespace sluice::doors {

// The value of a header that may occur only once; "" if absent. If there are two, a proxy or client on the
// way may have added one, and it is impossible to tell which is right: kInvalidArgument, which names the
// header. REQUIRES: name is lower case.
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

#pragma once

#include <string_view>

#include "plan/access_entry.h"

// The two formats that every web server can write. Pure; any bytes may be given; nothing is copied.
//
//   192.0.2.7 - alice [10/Oct/2026:13:55:36 -0700] "GET /search?q=x HTTP/1.1" 200 2326
//   192.0.2.7 - alice [10/Oct/2026:13:55:36 -0700] "GET /search?q=x HTTP/1.1" 200 2326 "https://a.example/"
//   "curl/8"
//
// Whatever follows on the line is left alone: many servers append fields of their own. Escapes stay as they
// are.
namespace sluice::plan {

Reading read_common(std::string_view line, AccessEntry& entry);
Reading read_combined(std::string_view line, AccessEntry& entry);

// "GET /search?q=x HTTP/1.1": method, path (without the query) and protocol. What is no request, as servers
// log when a client sends garbage, leaves them empty.
void read_request_line(std::string_view text, AccessEntry& entry);

}  // namespace sluice::plan

#pragma once

#include <string_view>

#include "plan/log/access_entry.h"

// The two formats that every web server can write. Pure; accepts any bytes; nothing is copied.
//
//   192.0.2.7 - alice [10/Oct/2026:13:55:36 -0700] "GET /a?b HTTP/1.1" 200 26
//   192.0.2.7 - alice [10/Oct/2026:13:55:36 -0700] "GET /a?b HTTP/1.1" 200 26 "https://a.example/" "curl/8"
//
// The rest of the line is ignored: many servers append their own fields. Escapes are not decoded.
namespace sluice::plan {

Reading read_common(std::string_view line, AccessEntry& entry);
Reading read_combined(std::string_view line, AccessEntry& entry);

// "GET /search?q=x HTTP/1.1": method, path (without the query) and protocol. They stay empty if the text is
// not a request; servers log such text when a client sends garbage.
void read_request_line(std::string_view text, AccessEntry& entry);

}  // namespace sluice::plan

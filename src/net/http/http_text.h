#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "net/http/http_api.h"

// Text that HTTP/1.1 and HTTP/2 answers share.
namespace sluice::net {

// "Not Found" for 404; "Unknown" for codes that are not used here.
std::string_view reason_phrase(int status);

// Turns `response` into an application/problem+json answer of the network layer itself.
// REQUIRES: detail needs no JSON escaping.
void set_problem(HttpResponse& response, int status, std::string_view detail);

// Ends a body that is a JSON object with a line break, so that a shell's prompt does not stick to it.
inline void end_line(HttpResponse& response) {
  if (response.content_type.ends_with("json") && response.body.starts_with('{') &&
      response.body.ends_with('}'))
    response.body.push_back('\n');
}

// Splits "/v1/x?a=b" at the question mark.
void split_target(std::string_view target, std::string_view& path, std::string_view& query);

// "Sun, 06 Nov 1994 08:49:37 GMT"
std::string http_date(std::int64_t unix_seconds);

void append_number(std::string& out, std::uint64_t number);

}  // namespace sluice::net

#pragma once

#include <string>
#include <string_view>

#include "net/http/http_api.h"

// The dashboard's login: a browser keeps the token in a cookie that no script can read, and sends it back
// with each request. Nothing is kept here, so a login holds on every node, and a deleted token ends it.
namespace sluice::doors {

// The `Authorization` of a request: its header or, without one, what its cookie stands for; empty if neither
// counts. May use `scratch`, which must live as long as the answer is used.
//
// A browser adds the cookie to whatever any page sends, so the cookie counts only beside a header that no
// page of another site can add (x-requested-with), and if the browser does not name another site as the
// sender. It does not count for a trusted peer, who needs no login: cookies know no ports, so it may be the
// cookie of another server on this machine.
std::string_view authorization_of(const net::HttpRequest& request, std::string& scratch);

// Values of `Set-Cookie`. `is_secure`: the browser must not send it without TLS.
// REQUIRES: can_be_a_cookie(token).
std::string cookie_of(std::string_view token, bool is_secure);
std::string no_cookie();
bool can_be_a_cookie(std::string_view token);

}  // namespace sluice::doors

#pragma once

#include <string>
#include <string_view>

#include "redis/url/redis_url.h"

// Logging in to a server, a Sentinel or a node of a cluster, and keeping secrets out of messages.
namespace sluice::redis {

// Appends AUTH if the address has a user or a password. Returns whether it did.
bool append_auth(std::string& commands, const Address& address);

// Describes an error reply to AUTH in our own words, except for its code: "WRONGPASS: the user or password is
// wrong". Servers and proxies that do not know a command repeat its arguments, each in its own way and
// perhaps truncated, so none of their text is safe to show.
std::string refused_auth(std::string_view error, const Address& address);

// A server's error text for another command. It is shown as it is, unless it contains our user name or
// password, as a server that mixes up replies might send.
std::string without_secrets(std::string_view text, const Address& address);

}  // namespace sluice::redis

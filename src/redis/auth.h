#pragma once

#include <string>
#include <string_view>

#include "redis/redis_url.h"

// Logging in to a server, a Sentinel or a node of a cluster, and what may be told of it afterwards.
namespace sluice::redis {

// Appends AUTH if the address has a user or a password. Returns whether it did.
bool append_auth(std::string& commands, const Address& address);

// An error reply to AUTH in words that are ours but for its code: "WRONGPASS: the user or password is wrong".
// Servers and proxies that do not know a command repeat its arguments, each in its own way and perhaps cut
// short, so no word of them is safe to show.
std::string refused_auth(std::string_view error, const Address& address);

// A text of the server's that answers something else. It is shown as it is unless it repeats what we logged
// in with, as one that mixes up replies may.
std::string without_secrets(std::string_view text, const Address& address);

}  // namespace sluice::redis

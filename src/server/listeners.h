#pragma once

#include <string>
#include <vector>

#include "net/server.h"
#include "server/serve_options.h"

namespace sluice::server {

// The ports that `sluice serve` listens on: the main one first. On a loopback port every peer may do
// everything, unless tokens are required. Throws CommandError, also if peers on other machines would have to
// use plain text and --allow-plaintext is not given.
std::vector<net::ListenOptions> listeners(const ServeOptions& options);

// Whether admins need no token.
bool trusts_admins(const std::vector<net::ListenOptions>& listeners);

// "127.0.0.1:8080, admin API on 127.0.0.1:8081": the actual addresses.
std::string listening_text(const std::vector<net::ListenOptions>& listeners, const net::Server& server);

}  // namespace sluice::server

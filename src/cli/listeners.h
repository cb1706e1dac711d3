#pragma once

#include <string>
#include <vector>

#include "cli/serve_options.h"
#include "net/server.h"

namespace sluice::cli {

// The ports that `sluice serve` is told to listen on: the main one first. Whoever reaches a port that only
// this machine has may do everything there, unless tokens are asked for. Throws CommandError; also if
// somebody beyond this machine would have to talk to us in plain text, and --allow-plaintext does not say
// that this is wanted.
std::vector<net::ListenOptions> listeners(const ServeOptions& options);

// Whether admins need no token.
bool trusts_admins(const std::vector<net::ListenOptions>& listeners);

// "127.0.0.1:8080, admin API on 127.0.0.1:8081": where the server really listens.
std::string listening_text(const std::vector<net::ListenOptions>& listeners, const net::Server& server);

}  // namespace sluice::cli

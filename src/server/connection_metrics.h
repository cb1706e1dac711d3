#pragma once

#include <string>

#include "net/server.h"

namespace sluice::server {

// The memory and connections held for clients, and the connections shed because of it, in Prometheus text
// format.
std::string connection_metrics(const net::Server::Stats& stats);

}  // namespace sluice::server

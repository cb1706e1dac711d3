#pragma once

#include <string>

#include "net/server.h"

namespace sluice::cli {

// What clients make the server hold, and who had to go because of it, as Prometheus reads it.
std::string connection_metrics(const net::Server::Stats& stats);

}  // namespace sluice::cli

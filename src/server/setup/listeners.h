#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "net/server.h"
#include "server/serve_options.h"

namespace sluice::server {

// A parsed HOST:PORT. IPv6 hosts are in brackets: [::1]:8080.
struct ListenAddress {
  std::string host;
  std::uint16_t port = 0;

  // Only processes on this machine can reach it.
  bool is_loopback() const;
  // Whether a connection could belong to either. Port 0 is a different port each time.
  bool overlaps(const ListenAddress& other) const;
};

// Throws a CommandError that says how to write it, and names the flag.
ListenAddress parse_listen_address(const std::string& text, std::string_view flag = "listen");

// The ports that `sluice serve` listens on: the main one first. On a loopback port every peer may do
// everything, unless tokens are required. Throws CommandError, also if peers on other machines would have to
// use plain text and --allow-plaintext is not given.
std::vector<net::ListenOptions> listeners(const ServeOptions& options);

// Whether admins need no token.
bool trusts_admins(const std::vector<net::ListenOptions>& listeners);

// "127.0.0.1:8080, admin API on 127.0.0.1:8081": the actual addresses.
std::string listening_text(const std::vector<net::ListenOptions>& listeners, const net::Server& server);

}  // namespace sluice::server

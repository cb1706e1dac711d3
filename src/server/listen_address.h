#pragma once

#include <cstdint>
#include <string>
#include <string_view>

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

}  // namespace sluice::server

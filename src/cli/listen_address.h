#pragma once

#include <cstdint>
#include <string>

namespace sluice::cli {

// HOST:PORT as the user wrote it, taken apart. IPv6 hosts stand in brackets: [::1]:8080.
struct ListenAddress {
  std::string host;
  std::uint16_t port = 0;

  // Only processes on this machine can reach it.
  bool is_loopback() const;
};

// Throws CommandError that says how to write it.
ListenAddress parse_listen_address(const std::string& text);

}  // namespace sluice::cli

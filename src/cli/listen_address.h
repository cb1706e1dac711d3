#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace sluice::cli {

// HOST:PORT as the user wrote it, taken apart. IPv6 hosts stand in brackets: [::1]:8080.
struct ListenAddress {
  std::string host;
  std::uint16_t port = 0;

  // Only processes on this machine can reach it.
  bool is_loopback() const;
  // A connection could belong to either. Port 0 is another one each time.
  bool overlaps(const ListenAddress& other) const;
};

// Throws CommandError that says how to write it, and names the flag.
ListenAddress parse_listen_address(const std::string& text, std::string_view flag = "listen");

}  // namespace sluice::cli

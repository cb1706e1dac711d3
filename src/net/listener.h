#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/error.h"

namespace sluice::net {

// Sockets that listen on one address, one for each loop: the kernel spreads new connections over them
// (SO_REUSEPORT), so that loops share nothing.
struct Listeners {
  std::vector<int> fds;  // for the caller to close
  std::uint16_t port = 0;
};

// Port 0 means any free one. If another process listens there already, the error says so, although
// SO_REUSEPORT would allow two processes of one user to share the port, which nobody wants to find out by
// accident.
Result<Listeners> listen_on(const std::string& host, std::uint16_t port, int count);

}  // namespace sluice::net

#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/error.h"

namespace sluice::net {

// Sockets that listen on one address, one per loop: the kernel distributes new connections over them
// (SO_REUSEPORT), so that loops share nothing.
struct Listeners {
  std::vector<int> fds;  // for the caller to close
  std::uint16_t port = 0;
};

// Port 0 means any free port. If another process listens there already, that is an error, although
// SO_REUSEPORT would let two processes of one user share the port: nobody wants to find that out by accident.
Result<Listeners> listen_on(const std::string& host, std::uint16_t port, int count);

}  // namespace sluice::net

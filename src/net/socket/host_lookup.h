#pragma once

#include <sys/socket.h>

#include <cstdint>
#include <map>
#include <memory>
#include <string>

namespace sluice::net {

struct SocketAddress {
  sockaddr_storage bytes{};
  socklen_t size = 0;
};

// Resolves host names without blocking: a separate thread does each look-up. Belongs to one thread.
//
// The first query for a name finds nothing: ask again in a moment. Every query starts a new look-up, so a
// host that has moved is found at the second attempt. If the name server does not answer, the last known
// addresses stay valid.
class HostLookup {
 public:
  // One of the host's addresses, a different one each time: "localhost" is often both ::1 and 127.0.0.1, and
  // the server may listen on only one of them. Returns false if none is known; `why` says so.
  bool find(const std::string& host, std::uint16_t port, SocketAddress& found, std::string& why);

 private:
  struct Name;  // shared with the look-up thread, which may outlive us

  std::map<std::string, std::shared_ptr<Name>> names_;
  std::uint32_t questions_ = 0;
};

}  // namespace sluice::net

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

// Finds the addresses of hosts without ever blocking: names are looked up by a thread of their own. Belongs
// to one thread.
//
// A name that nobody asked for before is not known yet: ask again in a moment. Every question starts a new
// look-up, so a host that has moved is found at the second attempt, and with a name server that does not
// answer the last addresses known stay good.
class HostLookup {
 public:
  // One of the host's addresses, another one each time: "localhost" is often ::1 and 127.0.0.1, and a server
  // on one of them only. False: not known; `why` says so.
  bool find(const std::string& host, std::uint16_t port, SocketAddress& found, std::string& why);

 private:
  struct Name;  // shared with the thread that looks it up, which may outlive us
  static void begin(const std::shared_ptr<Name>& name, const std::string& host, std::uint16_t port);

  std::map<std::string, std::shared_ptr<Name>> names_;
  std::uint32_t questions_ = 0;
};

}  // namespace sluice::net

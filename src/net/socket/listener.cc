#include "net/socket/listener.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cctype>
#include <cerrno>
#include <cstring>
#include <memory>
#include <optional>

#include "base/try.h"

namespace sluice::net {
namespace {

constexpr int kBacklog = 1024;

struct Address {
  sockaddr_storage bytes{};
  socklen_t size = 0;
};

std::unexpected<Error> cannot_listen(const std::string& host, std::uint16_t port, const std::string& why) {
  const bool is_ipv6 = host.contains(':');
  return std::unexpected(Error{
      ErrorCode::kUnavailable,
      "cannot listen on " + (is_ipv6 ? "[" + host + "]" : host) + ":" + std::to_string(port) + ": " + why,
      "listen"});
}

std::string lower_first(std::string text) {
  if (!text.empty()) text[0] = static_cast<char>(std::tolower(static_cast<unsigned char>(text[0])));
  return text;
}

Result<Address> resolve(const std::string& host, std::uint16_t port) {
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
  addrinfo* found = nullptr;
  const int error = getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &found);
  if (error != 0) return cannot_listen(host, port, lower_first(gai_strerror(error)));
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> owner(found, freeaddrinfo);
  Address address;
  address.size = found->ai_addrlen;
  std::memcpy(&address.bytes, found->ai_addr, found->ai_addrlen);
  return address;
}

// A bound socket, or -1 with errno.
int bind_socket(const Address& address, bool share_port) {
  const int fd = socket(address.bytes.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (fd < 0) return -1;
  const int yes = 1;
  setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
  if (share_port) setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &yes, sizeof(yes));
  if (bind(fd, reinterpret_cast<const sockaddr*>(&address.bytes), address.size) == 0) return fd;
  const int error = errno;
  close(fd);
  errno = error;
  return -1;
}

void close_all(Listeners& listeners) {
  for (const int fd : listeners.fds) close(fd);
  listeners.fds.clear();
}

}  // namespace

Result<Listeners> listen_on(const std::string& host, std::uint16_t port, int count) {
  Address address = SLUICE_TRY(resolve(host, port));
  const auto failed = [&] { return cannot_listen(host, port, lower_first(std::strerror(errno))); };
  if (port != 0) {
    const int probe = bind_socket(address, false);
    if (probe < 0) return failed();
    close(probe);
  }
  Listeners listeners;
  for (int i = 0; i < count; ++i) {
    const int fd = bind_socket(address, true);
    if (fd >= 0) listeners.fds.push_back(fd);
    if (fd < 0 || listen(fd, kBacklog) != 0) {
      const auto error = failed();
      close_all(listeners);
      return error;
    }
    // The first socket picks the port, the others join it.
    getsockname(fd, reinterpret_cast<sockaddr*>(&address.bytes), &address.size);
  }
  const auto* ipv4 = reinterpret_cast<const sockaddr_in*>(&address.bytes);
  const auto* ipv6 = reinterpret_cast<const sockaddr_in6*>(&address.bytes);
  listeners.port = ntohs(address.bytes.ss_family == AF_INET6 ? ipv6->sin6_port : ipv4->sin_port);
  return listeners;
}

}  // namespace sluice::net

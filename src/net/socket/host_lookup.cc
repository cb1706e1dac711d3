#include "net/socket/host_lookup.h"

#include <netdb.h>

#include <cstring>
#include <new>
#include <system_error>
#include <thread>
#include <vector>

#include "base/mutex.h"

namespace sluice::net {
namespace {

// Returns getaddrinfo's error code.
int look_up(const std::string& host, std::uint16_t port, int flags, std::vector<SocketAddress>& found) {
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICSERV | flags;
  addrinfo* list = nullptr;
  const int error = getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &list);
  if (error != 0) return error;
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> owner(list, freeaddrinfo);
  for (const addrinfo* each = list; each != nullptr; each = each->ai_next) {
    SocketAddress address{.size = each->ai_addrlen};
    std::memcpy(&address.bytes, each->ai_addr, each->ai_addrlen);
    found.push_back(address);
  }
  return 0;
}

}  // namespace

struct HostLookup::Name {
  // Starts a look-up on a thread, which keeps `self`.
  void begin(const std::shared_ptr<Name>& self, const std::string& host, std::uint16_t port)
      SLUICE_REQUIRES(mutex);

  Mutex mutex;
  bool busy SLUICE_GUARDED_BY(mutex) = false;
  std::vector<SocketAddress> addresses SLUICE_GUARDED_BY(mutex);
  std::string problem SLUICE_GUARDED_BY(mutex) = "resolving its address";
};

void HostLookup::Name::begin(const std::shared_ptr<Name>& self, const std::string& host,
                             std::uint16_t port) try {
  std::thread([name = self, host, port] {
    std::vector<SocketAddress> found;
    std::string failure;
    try {
      if (const int error = look_up(host, port, 0, found); error != 0)
        failure = "cannot resolve its address: " + std::string(gai_strerror(error));
    } catch (const std::bad_alloc&) {
      found.clear();  // the next query starts a new look-up
    }
    const Lock lock(name->mutex);
    name->busy = false;
    if (!found.empty()) name->addresses.swap(found);
    if (!failure.empty()) name->problem.swap(failure);
  }).detach();
  busy = true;
} catch (const std::system_error& error) {
  problem = error.what();
}

bool HostLookup::find(const std::string& host, std::uint16_t port, SocketAddress& found, std::string& why) {
  std::vector<SocketAddress> numeric;
  if (look_up(host, port, AI_NUMERICHOST, numeric) == 0) {
    found = numeric.front();
    return true;
  }
  std::shared_ptr<Name>& name = names_[host + ":" + std::to_string(port)];
  if (!name) name = std::make_shared<Name>();
  const Lock lock(name->mutex);
  if (!name->busy) name->begin(name, host, port);
  why = name->problem;
  if (name->addresses.empty()) return false;
  found = name->addresses[questions_++ % name->addresses.size()];
  return true;
}

}  // namespace sluice::net

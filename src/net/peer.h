#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace sluice::net {

// What a listening port is for. The application answers there what belongs there.
enum class Port : std::uint8_t {
  kAll,     // the only port
  kChecks,  // everything but the admin API, which has a port of its own
  kAdmin,   // the admin API, health and metrics
  kRedis,   // the Redis protocol; all others speak HTTP and gRPC
};
inline constexpr std::size_t kPorts = 4;

// Who is at the other end of a connection, and by which port they came. A plain value; the connection owns
// it, and but for is_stranger it does not change any more once the first request is handled.
struct Peer {
  std::string address;   // "127.0.0.1" or "::1"
  std::uint32_t id = 0;  // of the connection, among those of its loop; given again after four billion others
  Port port = Port::kAll;
  bool is_trusted = false;         // whoever reaches this port may do everything; see ListenOptions
  std::vector<std::string> names;  // that a verified certificate of the peer gives it; empty: it has none
  // Has to show a token for whatever it wants, and has not shown a good one yet. The application says when it
  // has, by recognise(); the network keeps less for strangers, and lets them go first.
  mutable bool is_stranger = false;

  void recognise() const { is_stranger = false; }
};

}  // namespace sluice::net

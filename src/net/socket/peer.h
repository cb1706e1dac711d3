#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace sluice::net {

// What a listening port is for. The application serves on it what belongs there.
enum class Port : std::uint8_t {
  kAll,     // the only port
  kChecks,  // everything but the admin API, which has a port of its own
  kAdmin,   // the admin API, health and metrics
  kRedis,   // the Redis protocol; all others speak HTTP and gRPC
};
inline constexpr std::size_t kPorts = 4;

// The other end of a connection, and the port it connected to. A plain value; the connection owns it, and
// except for is_stranger it does not change after the first request is handled.
struct Peer {
  std::string address;  // "127.0.0.1" or "::1"
  // Of the connection, within its loop. Reused after four billion others.
  std::uint32_t id = 0;
  Port port = Port::kAll;
  bool is_trusted = false;         // every peer of this port may do everything; see ListenOptions
  std::vector<std::string> names;  // from the peer's verified certificate; empty: it has none
  // The peer needs a token for everything, and has not shown a valid one yet. The application clears it in
  // recognise(). The network buffers less for strangers, and closes them first.
  mutable bool is_stranger = false;

  void recognise() const { is_stranger = false; }
};

}  // namespace sluice::net

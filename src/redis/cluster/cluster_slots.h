#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "redis/protocol/resp.h"

// What a client must know about Redis Cluster: keys live in 16384 slots, slots on masters, and a node that is
// asked for another node's slot names that node. Text in, facts out; no sockets here. Everything is checked:
// the server may be broken or hostile.
namespace sluice::redis {

inline constexpr std::uint16_t kSlots = 16'384;

// CRC16 as Redis computes it (XMODEM).
std::uint16_t crc16(std::string_view bytes);

// The slot of a key: the hash of the text between its first { and the next }, if there is any, else of the
// whole key.
std::uint16_t key_slot(std::string_view key);

// Where a node listens.
struct Endpoint {
  std::string host;  // a name or an address, without brackets
  std::uint16_t port = 0;

  std::string to_string() const;
  friend bool operator==(const Endpoint&, const Endpoint&) = default;
};

// Which master has which slot.
struct SlotMap {
  static constexpr std::uint16_t kNobody = 0xffff;

  std::vector<Endpoint> masters;
  std::vector<std::string> ids;  // of each master; empty: not told
  std::vector<Endpoint> replicas;
  std::vector<std::uint16_t> replica_of;  // of each replica: its master's place in `masters`, or kNobody
  std::vector<std::uint16_t> owner;       // of each slot: its place in `masters`, or kNobody
};

// "CLUSTER SLOTS", "CLUSTER NODES".
std::string cluster_command(std::string_view about);

// Reads the reply to CLUSTER SLOTS. `asked` is where it came from: a node that does not know its own name
// sends an empty host for itself. Slots whose master has no known name have no owner. Absent: not such a
// reply, or no slot has a master.
std::optional<SlotMap> read_slot_map(std::span<const RespValue> reply, const Endpoint& asked);

// "MOVED 3999 10.0.0.7:6381" and "ASK 3999 10.0.0.7:6381".
struct Redirect {
  std::uint16_t slot = 0;
  Endpoint to;
};
std::optional<Redirect> read_redirect(std::string_view error, const Endpoint& asked);

}  // namespace sluice::redis

#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "redis/protocol/resp.h"

// Reads the replies of a Sentinel. Pure functions; what they do not understand is absent.
namespace sluice::redis {

struct HostAndPort {
  std::string host;
  std::uint16_t port = 0;

  bool operator==(const HostAndPort&) const = default;
};

// The reply to SENTINEL GET-MASTER-ADDR-BY-NAME.
std::optional<HostAndPort> read_master_address(std::span<const RespValue> reply);

// The reply to SENTINEL SENTINELS: the other Sentinels of a master, at most kSentinelsMax of them.
std::vector<HostAndPort> read_other_sentinels(std::span<const RespValue> reply);

// The reply to SENTINEL REPLICAS: the master's replicas that the Sentinel reports as healthy, at most
// kReplicasMax.
std::vector<HostAndPort> read_good_replicas(std::span<const RespValue> reply);

// Whether a message on the channel +switch-master is about this master.
bool tells_of_switch(std::span<const RespValue> reply, std::string_view master_name);

}  // namespace sluice::redis

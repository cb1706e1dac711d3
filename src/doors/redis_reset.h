#pragma once

#include <span>
#include <string>
#include <string_view>

#include "doors/door_context.h"
#include "net/http_api.h"

namespace sluice::doors {

// Whoever sends a command over the Redis protocol. Lives no longer than that.
struct RedisCaller {
  const net::Peer* peer;           // never null
  std::string_view authorization;  // "Bearer …"; empty: no token was given

  // As a request of HTTP has it, of which there is only this one here.
  std::string_view header(std::string_view name) const {
    return name == "authorization" ? authorization : std::string_view();
  }
};
inline const net::Peer& peer_of(const RedisCaller& caller) { return *caller.peer; }

// DEL key [key …]: forgets what `policy`, that of CL.THROTTLE, has counted for these keys, and answers how
// many were known. One reset for the role and the audit log. The policy outlives the answer.
void reset_keys(DoorContext& context, const RedisCaller& caller, const CompiledPolicy& policy,
                std::span<const std::string_view> keys, std::string& out,
                const net::RedisHandler::Defer& defer);

}  // namespace sluice::doors

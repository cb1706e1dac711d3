#pragma once

#include <span>
#include <string>
#include <string_view>

#include "doors/door_context.h"
#include "net/http/http_api.h"

namespace sluice::doors {

// The sender of a Redis protocol command. Valid only during that command.
struct RedisCaller {
  const net::Peer* peer;           // never null
  std::string_view authorization;  // "Bearer …"; empty: no token was given

  // The interface of an HTTP request; this is the only header here.
  std::string_view header(std::string_view name) const {
    return name == "authorization" ? authorization : std::string_view();
  }
};
inline const net::Peer& peer_of(const RedisCaller& caller) { return *caller.peer; }

// DEL key [key …]: resets what `policy`, that of CL.THROTTLE, has counted for these keys, and answers how
// many existed. It is one reset for authorization and the audit log. The policy outlives the answer.
void reset_keys(DoorContext& context, const RedisCaller& caller, const CompiledPolicy& policy,
                std::span<const std::string_view> keys, std::string& out,
                const net::RedisHandler::Defer& defer);

}  // namespace sluice::doors

#pragma once

#include <span>
#include <string_view>

#include "doors/access/caller.h"
#include "net/http/http_api.h"

namespace sluice::doors {

// DEL key [key …]: resets what `policy`, that of CL.THROTTLE, has counted for these keys, and answers how
// many existed. It is one reset for authorization and the audit log. The policy outlives the answer.
void reset_keys(DoorContext& context, const Caller& caller, const CompiledPolicy& policy,
                std::span<const std::string_view> keys, net::RedisReply& reply);

}  // namespace sluice::doors

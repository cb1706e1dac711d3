#pragma once

#include <string>
#include <vector>

#include "redis/inspect/clock_delta.h"
#include "redis/inspect/server_facts.h"
#include "redis/url/redis_url.h"

namespace sluice::redis {

// What an operator should change about a server that works, but not as well as it seems, in sentences. A
// sentence stays the same as long as its cause does, so that a log does not fill with changing numbers.
std::vector<std::string> advise(const Address& address, const ServerFacts& facts, const ClockDelta& clock);

// Whether traffic to this address stays on this machine, as far as the address tells.
bool is_loopback(const Address& address);

}  // namespace sluice::redis

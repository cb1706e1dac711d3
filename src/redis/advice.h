#pragma once

#include <string>
#include <vector>

#include "redis/clock_delta.h"
#include "redis/redis_url.h"
#include "redis/server_facts.h"

namespace sluice::redis {

// What whoever runs a server should change, in sentences: it works, but not as well as one would think. They
// are the same for as long as the matter is, so that a log does not fill with numbers that change.
std::vector<std::string> advise(const Address& address, const ServerFacts& facts, const ClockDelta& clock);

// Whether what is sent there never leaves this machine, as far as the address tells.
bool is_loopback(const Address& address);

}  // namespace sluice::redis

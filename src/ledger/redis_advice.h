#pragma once

#include <optional>
#include <string>
#include <vector>

#include "redis/redis_url.h"
#include "redis/server_facts.h"

namespace sluice::ledger {

// How a server keeps what it was told. What it did not say is empty.
struct RedisPersistence {
  std::optional<bool> appends;             // each change to a file, before it is answered or soon after
  std::optional<std::string> save;         // when it writes snapshots; empty: never
  std::optional<std::string> appendfsync;  // always, everysec or no
};

// What whoever runs a Redis should change before policies are safe there, in sentences: it works, but may
// forget.
std::vector<std::string> advise_policy_database(const redis::Address& address,
                                                const redis::ServerFacts& facts,
                                                const RedisPersistence& persistence);

}  // namespace sluice::ledger

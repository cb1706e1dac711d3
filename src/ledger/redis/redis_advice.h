#pragma once

#include <optional>
#include <string>
#include <vector>

#include "redis/inspect/server_facts.h"
#include "redis/url/redis_url.h"

namespace sluice::ledger {

// How a server persists its data. Fields that the server did not report are empty.
struct RedisPersistence {
  std::optional<bool> appends;             // appendonly: changes go to a file before the reply, or just after
  std::optional<std::string> save;         // when it writes snapshots; empty text: never
  std::optional<std::string> appendfsync;  // always, everysec or no
};

// What the operator of a Redis should change to make policies safe there, as sentences: it works as it is,
// but may lose data.
std::vector<std::string> advise_policy_database(const redis::Address& address,
                                                const redis::ServerFacts& facts,
                                                const RedisPersistence& persistence);

}  // namespace sluice::ledger

#include "ledger/redis/redis_advice.h"

#include "redis/inspect/advice.h"

namespace sluice::ledger {

std::vector<std::string> advise_policy_database(const redis::Address& address,
                                                const redis::ServerFacts& facts,
                                                const RedisPersistence& persistence) {
  std::vector<std::string> advice;
  if (!address.tls && !redis::is_loopback(address))
    advice.push_back("the password and all policies travel unencrypted; use rediss://");
  if (persistence.appends == false && persistence.save == "")
    advice.push_back(
        "nothing is persisted: a restart loses every policy, user and token, and the audit log; set "
        "appendonly to yes");
  else if (persistence.appends == false)
    advice.push_back(
        "appendonly is no: a crash loses the changes since the last snapshot; set appendonly to yes");
  else if (persistence.appends == true && persistence.appendfsync.value_or("always") != "always")
    advice.push_back("appendfsync is " + *persistence.appendfsync +
                     ": a crash may lose acknowledged changes of the last seconds; set it to always");
  // Keys without expiry, such as those of policies, are evicted only under these policies.
  if (facts.eviction.starts_with("allkeys-") && facts.memory_bytes_max != 0)
    advice.push_back("maxmemory-policy is " + facts.eviction +
                     ": Redis may evict policies when its memory is full; set it to noeviction");
  return advice;
}

}  // namespace sluice::ledger

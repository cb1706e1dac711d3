#include "ledger/redis_advice.h"

#include "redis/advice.h"

namespace sluice::ledger {

std::vector<std::string> advise_policy_database(const redis::Address& address,
                                                const redis::ServerFacts& facts,
                                                const RedisPersistence& persistence) {
  std::vector<std::string> advice;
  if (!address.tls && !redis::is_loopback(address))
    advice.push_back("the password and all policies travel unencrypted; use rediss://");
  if (persistence.appends == false && persistence.save == "")
    advice.push_back(
        "it keeps nothing on disk: a restart forgets every policy, user and token, and the audit log; set "
        "appendonly to yes");
  else if (persistence.appends == false)
    advice.push_back(
        "appendonly is no: a crash forgets the changes since its last snapshot; set appendonly to yes");
  else if (persistence.appends == true && persistence.appendfsync.value_or("always") != "always")
    advice.push_back(
        "appendfsync is " + *persistence.appendfsync +
        ": a crash may forget changes of the last seconds although they were answered; set it to "
        "always");
  // What has no expiry, as policies, is taken only by these.
  if (facts.eviction.starts_with("allkeys-") && facts.memory_bytes_max != 0)
    advice.push_back("maxmemory-policy is " + facts.eviction +
                     ": Redis may forget policies when its memory is full; set it to noeviction");
  return advice;
}

}  // namespace sluice::ledger

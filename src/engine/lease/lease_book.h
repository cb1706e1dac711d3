#pragma once

#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/mutex.h"
#include "engine/lease/lease.h"

namespace sluice {

// The leases that this node has granted and that have not expired: for people and for metrics. Nothing is
// decided by it. Thread-safe; leases are far rarer than checks, so one lock is enough.
//
// It is bounded in all, also in bytes, and per tenant (limits/lease_limits.h): a tenant's oldest lease makes
// room for its next one, so a tenant with many leases hides only its own. What is no longer listed stays in
// the sums until it expires, to the second, even if it is returned: a sum is never too small.
class LeaseBook {
 public:
  struct Entry {
    // The end of the lease's id: enough to recognise it, too little to return it.
    std::string name;
    std::string tenant, policy_id, policy_version, resource;
    std::int64_t granted = 0;
    std::int64_t expires_unix_ms = 0;
    std::int64_t over_at_us = 0;  // the same on this process's clock
  };

  // A lease that was granted, or told again: its first answer may have been lost, or given by another node.
  // One that is listed already is ignored. `tenant`: its own or the implied one.
  void add(const Lease& lease, const LeaseClaim& claim, std::string_view tenant, std::int64_t now_us);
  // It was returned.
  void remove(std::string_view lease_id);

  // In the order in which they were granted. Empty texts match all.
  std::vector<Entry> list(std::string_view tenant, std::string_view policy_id, std::size_t most,
                          std::int64_t now_us);

  // Units that may still be spent, by policy; never too few.
  std::map<std::string, std::int64_t> units_outstanding(std::int64_t now_us);

 private:
  struct Listed;
  using Entries = std::list<Listed>;
  using OfTenant = std::list<Entries::iterator>;  // the oldest first
  struct Listed {
    Entry entry;
    OfTenant::iterator of_tenant;
  };
  void expire(std::int64_t now_us) SLUICE_REQUIRES(mutex_);
  void erase(Entries::iterator listed) SLUICE_REQUIRES(mutex_);
  void stop_listing(Entries::iterator listed) SLUICE_REQUIRES(mutex_);

  Mutex mutex_;
  // In the order in which they expire, but for those that were told again: they are listed for longer.
  Entries entries_ SLUICE_GUARDED_BY(mutex_);
  std::unordered_map<std::string, Entries::iterator> by_name_ SLUICE_GUARDED_BY(mutex_);
  std::unordered_map<std::string, OfTenant> tenants_ SLUICE_GUARDED_BY(mutex_);
  std::size_t bytes_ SLUICE_GUARDED_BY(mutex_) = 0;
  // Units by policy that are no longer listed, by the second in which they are over.
  std::map<std::int64_t, std::map<std::string, std::int64_t>> unlisted_ SLUICE_GUARDED_BY(mutex_);
};

}  // namespace sluice

#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "policy/snapshot/snapshot.h"

namespace sluice {

// What lets units pass beyond limits at this moment, as far as this node knows. Plain data; made at a scrape.
struct Exposure {
  bool switch_is_open = false;                 // the big red switch lets everything pass
  bool store_fails = false;                    // failure rules decide some checks
  bool store_is_full = false;                  // … those that need a new counter in Redis
  bool memory_is_full = false;                 // … those that need a new counter in this process
  std::map<std::string, std::int64_t> leased;  // units of outstanding leases, by policy
  std::uint64_t node_leased = 0;               // units that this node holds of one counter, at most
};

// The units that may pass beyond a limit of the policy now, for any one key; nullopt: there is no bound.
// docs/accuracy.md derives it:
//
//   leases                          what is outstanding, over all keys of the policy
//   node leases                     what each loop holds of the counter of which it holds most
//   on_failure: open in force       no bound
//   on_failure: local in force      what the local limiter holds
//   on_failure: closed, shadow      nothing; a shadow policy limits nobody in any case
std::optional<std::uint64_t> overshoot_bound(const CompiledPolicy& policy, const Exposure& exposure);

// Two families of the /metrics page: units of leases, and the bound. Label values are bounded as those of
// metrics_page().
std::string exposure_metrics(const Snapshot& policies, const Exposure& exposure);

}  // namespace sluice

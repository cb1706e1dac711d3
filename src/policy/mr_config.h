#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "policy/snapshot.h"

namespace sluice {

// What the multi-rate API tells of an entry of `domains` (mr_document.h) that is in force.
struct MrRate {
  double flow_rate_per_second = 0;
  std::int64_t burst_capacity = 0;
  std::string name;
  friend bool operator==(const MrRate&, const MrRate&) = default;
};
struct MrDomain {
  std::string domain;
  std::string prefix_key;     // empty: the entry has none
  std::vector<MrRate> rates;  // in the order of `limiting_rate_index`
  friend bool operator==(const MrDomain&, const MrDomain&) = default;
};

// Every policy in force that an entry of `domains` could have made (mr_entry.h), by domain and
// prefix. Policies that such a document cannot say are left out. If there is no entry at all: the built-in
// one, which counts everything then, as one of the default domain.
std::vector<MrDomain> mr_config(const Snapshot& snapshot);

}  // namespace sluice

#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "policy/snapshot/snapshot.h"

namespace sluice {

// What the multi-rate API reports about an entry of `domains` (multi_rate_document.h) that is in force.
struct MultiRateRate {
  double flow_rate_per_second = 0;
  std::int64_t burst_capacity = 0;
  std::string name;
  friend bool operator==(const MultiRateRate&, const MultiRateRate&) = default;
};
struct MultiRateDomain {
  std::string domain;
  std::string prefix_key;            // empty: the entry has none
  std::vector<MultiRateRate> rates;  // in the order of `limiting_rate_index`
  friend bool operator==(const MultiRateDomain&, const MultiRateDomain&) = default;
};

// All policies in force that an entry of `domains` could have made (multi_rate_entry.h), by domain and
// prefix. Policies that such a document cannot express are left out. If there is no entry at all: the
// built-in one, which then counts everything, as an entry of the default domain.
std::vector<MultiRateDomain> multi_rate_config(const Snapshot& snapshot);

}  // namespace sluice

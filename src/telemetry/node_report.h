#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/duration_histogram.h"
#include "base/limits/node_limits.h"

namespace sluice {

// What a node tells about itself to the other nodes, and to its dashboard. Plain data.
struct NodeReport {
  struct Counts {
    std::uint64_t allowed = 0, denied = 0, degraded = 0;
    friend bool operator==(const Counts&, const Counts&) = default;
  };
  struct Policy {
    std::string id;
    Counts checks;
    friend bool operator==(const Policy&, const Policy&) = default;
  };

  std::string id;    // of this run of the process
  std::string name;  // of its host, and its port
  std::string version;
  std::string admin;  // address of its own admin port; empty: none
  std::int64_t started_us = 0;
  bool ready = false, draining = false, degraded = false;
  std::vector<std::string> problems;  // as in /readyz
  int loops = 0, connected = 0;       // threads, and those that are connected to their stores
  std::int64_t counted_us = 0;        // when what follows was counted, by the node's clock
  Counts checks;                      // since the start, by all policies
  std::uint64_t no_policy = 0;        // checks that no policy matched
  std::vector<Policy> policies;       // the busiest ones; at most kNodePoliciesMax
  DurationHistogram latency;          // of checks
};

// As text of at most kNodeReportBytesMax; what does not fit is left out.
std::string to_text(const NodeReport& report);
// The inverse. Fields that this version does not know are skipped, those that are missing stay as they are:
// nodes of different versions read each other. Nothing: it is malformed, or beyond a bound.
std::optional<NodeReport> node_report_from(std::string_view text);

}  // namespace sluice

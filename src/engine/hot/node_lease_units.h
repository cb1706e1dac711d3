#pragma once

#include <algorithm>
#include <cstdint>
#include <string_view>

#include "store/store_report.h"

namespace sluice {

// What a node's own leases add to the units that may pass beyond a limit (telemetry/exposure.h).
inline constexpr std::string_view kNodeLeaseUnits = "rate_limiter_node_lease_units";

// Adds the units that a loop holds of the counter of which it holds most. Loops and stores are added up.
inline void add_node_lease_units(StoreReport& report, std::int64_t units) {
  report.metrics.add(StoreMetrics::Kind::kGauge, kNodeLeaseUnits,
                     "Units that this node has leased for itself: of the counter of which a loop holds most, "
                     "over all loops.",
                     static_cast<std::uint64_t>(std::max<std::int64_t>(units, 0)));
}

}  // namespace sluice

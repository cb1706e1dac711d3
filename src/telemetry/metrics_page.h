#pragma once

#include <string>

#include "store/store_report.h"
#include "telemetry/decision_counters.h"
#include "telemetry/store_summary.h"

namespace sluice {

struct PolicyFileStatus;

// The whole /metrics page, in Prometheus text format. Label values are policy ids and limit names, never
// keys; policies beyond kMetricPoliciesMax are summed up as policy="other".
//
// `memory`: of the memory that all loops share; `stores`: of the stores that each loop has of its own.
std::string metrics_page(const DecisionTotals::Sum& decisions, const StoreMetrics& memory,
                         const StoreSummary& stores, const PolicyFileStatus& policies);

}  // namespace sluice

#pragma once

#include <string>

#include "store/memory/request_log.h"
#include "store/store.h"
#include "telemetry/decision_counters.h"
#include "telemetry/store_report.h"

namespace sluice {

struct RepositoryStatus;

// The whole /metrics page, in Prometheus text format. Label values are policy ids and limit names, never
// keys; policies beyond kMetricPoliciesMax are summed up as policy="other".
std::string metrics_page(const DecisionTotals::Sum& decisions, const Store::Stats& memory,
                         const RequestLog::Stats& requests, const StoreReport& store,
                         const RepositoryStatus& policies);

}  // namespace sluice

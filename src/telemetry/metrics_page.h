#pragma once

#include <string>

#include "policy/repository.h"
#include "store/request_log.h"
#include "store/store.h"
#include "telemetry/decision_counters.h"
#include "telemetry/store_report.h"

namespace sluice {

// Everything /metrics shows, in Prometheus' text format. Label values are policy ids and limit names, never
// keys; beyond kMetricPoliciesMax policies the rest is summed up as policy="other".
std::string metrics_page(const DecisionTotals::Sum& decisions, const Store::Stats& memory,
                         const RequestLog::Stats& requests, const StoreReport& store,
                         const RepositoryStatus& policies);

}  // namespace sluice

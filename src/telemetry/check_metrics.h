#pragma once

#include "policy/snapshot/snapshot.h"
#include "telemetry/decision_counters.h"
#include "telemetry/prometheus.h"

namespace sluice {

// Families of the /metrics page about checks: how they ended and how long they took, by algorithm; by policy,
// version and limit; by owner. Label values come from the configuration and are bounded.

void write_checks(PrometheusText& text, const CheckMeter::Sum& checks);
// `policies`: at most kMetricPoliciesMax, the rest summed up.
void write_limits(PrometheusText& text, const std::map<std::string, DecisionTotals::PolicySum>& policies);
// Which limit of its policy denied, by position.
void write_limiting_index(PrometheusText& text, const DecisionTotals::Sum& decisions);
void write_owners(PrometheusText& text, const std::map<std::string, DecisionTotals::OwnerSum>& owners);

// How many policies are in force, and in how many domains (tenants; those for any tenant are one more).
std::string policy_count_metrics(const Snapshot& policies);

// The program and its process: version, start, CPU time, memory, files.
std::string process_metrics(std::string_view version);

}  // namespace sluice

#include "control/control_plane_metrics.h"

#include "telemetry/prometheus.h"

namespace sluice::control {
namespace {

void write_value(PrometheusText& text, std::string_view name, std::string_view type, std::string_view help,
                 std::uint64_t number) {
  text.family(name, type, help);
  text.sample({}, number);
}

}  // namespace

std::string control_plane_metrics(const ControlPlaneStatus& status) {
  PrometheusText text;
  write_value(text, "rate_limiter_policy_database_up", "gauge",
              "Whether the latest call to the policy database succeeded.", status.reachable);
  write_value(text, "rate_limiter_policy_database_writable", "gauge",
              "Whether the policy database accepted the latest change.", status.writable);
  write_value(text, "rate_limiter_policy_database_failures_total", "counter",
              "Failed calls to the policy database.", status.failures);
  write_value(text, "rate_limiter_policy_revision", "gauge",
              "Revision of the policy database that is in force.",
              static_cast<std::uint64_t>(status.revision));
  write_value(text, "rate_limiter_policy_problems", "gauge",
              "Documents of the policy database that are not in force, and why.", status.problems.size());
  write_value(text, "rate_limiter_control_memory_failures_total", "counter",
              "Control plane work dropped for lack of memory.", status.shortages);
  return std::move(text).take();
}

std::string switch_metrics(bool is_open, std::size_t records_waiting) {
  PrometheusText text;
  write_value(text, "rate_limiter_switch_open", "gauge",
              "Whether the big red switch is open, so that every check is allowed.", is_open);
  write_value(text, "rate_limiter_audit_records_waiting", "gauge",
              "Audit records waiting for the policy database.", records_waiting);
  return std::move(text).take();
}

}  // namespace sluice::control

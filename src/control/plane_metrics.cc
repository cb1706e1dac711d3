#include "control/plane_metrics.h"

#include "telemetry/prometheus.h"

namespace sluice::control {

std::string plane_metrics(const PlaneStatus& status) {
  PrometheusText text;
  const auto value = [&](std::string_view name, std::string_view type, std::string_view help,
                         std::uint64_t number) {
    text.family(name, type, help);
    text.sample({}, number);
  };
  value("rate_limiter_policy_database_up", "gauge", "Whether the policy database answered the last time.",
        status.reachable);
  value("rate_limiter_policy_database_failures_total", "counter",
        "Calls that the policy database did not answer.", status.failures);
  value("rate_limiter_policy_revision", "gauge", "The newest change of the policy database that is in force.",
        static_cast<std::uint64_t>(status.revision));
  value("rate_limiter_policy_problems", "gauge",
        "Documents of the policy database that are not in force, and why.", status.problems.size());
  return std::move(text).take();
}

}  // namespace sluice::control

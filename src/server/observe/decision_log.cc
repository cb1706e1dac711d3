#include "server/observe/decision_log.h"

#include "base/text/encode.h"

namespace sluice::server {
namespace {

struct What {
  LogEvent event;
  std::string_view message;
};

What what_happened(const DecisionEvent& event) {
  if (event.decision.degraded)
    return {LogEvent::kDecisionDegraded,
            event.has_passed() ? "check allowed without the store" : "check denied without the store"};
  if (!event.has_passed()) return {LogEvent::kDecisionDenied, "check denied"};
  if (event.decision.pressure() != Pressure::kNormal)
    return {LogEvent::kDecisionNearLimit, "check allowed, and little is left"};
  return {LogEvent::kDecisionAllowed, "check allowed"};
}

}  // namespace

void DecisionLog::on_decision(const DecisionEvent& event) {
  const Decision& decision = event.decision;
  const auto [name, message] = what_happened(event);
  const std::string key = keys_.shown(event.asked.key, clock_.now_us());
  const std::string policy = decision.policy ? decision.policy->version_text() : "";
  const TraceContext* const trace = event.asked.trace;
  const std::string trace_id =
      trace ? to_hex({reinterpret_cast<const char*>(trace->trace_id.data()), trace->trace_id.size()}) : "";
  log_(
      name, message,
      {{"tenant", event.asked.tenant},
       {"resource", event.asked.resource},
       {"key", key},
       {"policy", policy},
       {"limit", decision.tightest ? std::string_view(decision.tightest->limit->name()) : std::string_view()},
       {"reason", to_string(decision.reason)},
       {"cost", decision.cost},
       {"current", decision.current()},
       {"remaining", decision.remaining()},
       {"retry_after_ms", decision.retry_after_ms()},
       {"request_id", event.asked.request_id},
       {"trace_id", trace_id}});
}

}  // namespace sluice::server

#include "doors/access/reset_report.h"

#include "base/limits.h"
#include "doors/text.h"

namespace sluice::doors {

std::string ResetReport::sentence() const {
  std::string text = actor + " at " + address + " reset " + std::to_string(counters) +
                     (counters == 1 ? " counter of " : " counters of ");
  if (!policy_id.empty()) {
    text.append("policy ");
    append_json_string(text, policy_id);
  } else {
    text.append("tenant ");
    append_json_string(text, tenant);
    text.append(" and resource ");
    append_json_string(text, resource);
  }
  if (reason.empty()) return text.append(" without a reason");
  text.append(" because ");
  append_json_string(text, reason);
  return text;
}

ResetReport report_on(const CheckRequest& request, std::string_view reason) {
  const Dimensions dimensions(request);
  ResetReport report;
  report.policy_id = request.policy_id;
  report.tenant = dimensions.tenant();
  report.resource = dimensions.resource();
  report.reason = reason;
  return report;
}

Result<void> check_reset_reason(std::string_view reason) {
  if (reason.size() > kKeyBytesMax)
    return invalid("reason", "reason must have at most " + std::to_string(kKeyBytesMax) + " bytes");
  if (reason.contains('\0')) return invalid("reason", "reason must not contain a NUL");
  return {};
}

}  // namespace sluice::doors

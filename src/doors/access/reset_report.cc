#include "doors/access/reset_report.h"

#include <utility>

#include "base/limits.h"
#include "base/text/utf8.h"
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

Result<void> ResetReport::check() const {
  if (reason.size() > kKeyBytesMax)
    return invalid("reason", "reason must have at most " + std::to_string(kKeyBytesMax) + " bytes");
  const std::pair<std::string, const std::string&> texts[] = {
      {"policy_id", policy_id}, {"tenant_id", tenant}, {"resource", resource}, {"reason", reason}};
  for (const auto& [field, text] : texts)
    if (text.contains('\0') || !is_utf8(text))
      return invalid(field, field + " must be UTF-8 without NUL, because the audit log records it");
  return {};
}

}  // namespace sluice::doors

#include "admin/rules/rule_id.h"

#include "base/secret/hash.h"
#include "base/text/encode.h"

namespace sluice::admin {

std::string rule_id(std::string_view prefix, std::string_view tenant, std::string_view resource) {
  static const KeyHasher hasher = KeyHasher::from_text("sluice rule");
  std::string name = std::to_string(tenant.size());
  name.append(":").append(tenant).append(resource);
  const KeyHash hash = hasher(name);
  std::string bytes;
  for (int shift = 0; shift < 40; shift += 8)
    for (const std::uint64_t half : {hash.high, hash.low}) bytes.push_back(static_cast<char>(half >> shift));
  return std::string(prefix) + '-' + to_base32(bytes);
}

bool is_rule_id(std::string_view id) {
  const std::string_view prefix = id.substr(0, id.find('-'));
  return prefix.size() < id.size() &&
         (prefix == kRulePrefix || prefix == kEndpointRulePrefix || prefix == kFormerEndpointRulePrefix);
}

}  // namespace sluice::admin

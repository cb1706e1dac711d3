#include "admin/rule_id.h"

#include "base/hash.h"

namespace sluice::admin {

std::string rule_id(std::string_view prefix, std::string_view tenant, std::string_view resource) {
  static const KeyHasher hasher = KeyHasher::from_text("sluice rule");
  constexpr std::string_view kAlphabet = "abcdefghijklmnopqrstuvwxyz234567";
  std::string name = std::to_string(tenant.size());
  name.append(":").append(tenant).append(resource);
  const KeyHash hash = hasher(name);
  std::string id(prefix);
  id += '-';
  for (int shift = 0; shift < 40; shift += 5) id += kAlphabet[hash.high >> shift & 31];
  for (int shift = 0; shift < 40; shift += 5) id += kAlphabet[hash.low >> shift & 31];
  return id;
}

}  // namespace sluice::admin

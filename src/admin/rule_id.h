#pragma once

#include <string>
#include <string_view>

namespace sluice::admin {

// "rule-" and sixteen letters and digits that stand for tenant and resource: fit for a URL and for a policy's
// id, the same everywhere and for ever.
std::string rule_id(std::string_view prefix, std::string_view tenant, std::string_view resource);

}  // namespace sluice::admin

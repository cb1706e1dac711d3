#pragma once

#include <string>
#include <string_view>

namespace sluice::admin {

// "rule-" and sixteen letters and digits derived from tenant and resource. Valid in a URL and as a policy id;
// the same on every node and forever.
std::string rule_id(std::string_view prefix, std::string_view tenant, std::string_view resource);

}  // namespace sluice::admin

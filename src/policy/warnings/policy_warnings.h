#pragma once

#include <set>
#include <span>
#include <string>
#include <vector>

#include "document/problems.h"
#include "policy/document/policy_document.h"

// What can be used, but hardly is what was meant: dimensions that no request has (dimension_names.h), tiers
// that add up (mixed_tiers.h).
namespace sluice {

// `known`: dimensions that were warned of before; gets the new ones.
std::vector<Problem> warnings_of(std::span<const WrittenPolicy> policies, std::set<std::string>& known);

// The same of policies that came through the API: "api.read: limits[0].per: …".
std::vector<std::string> warnings_of(std::span<const Policy> policies);

}  // namespace sluice

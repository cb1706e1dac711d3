#pragma once

#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "policy/document.h"
#include "policy/problems.h"

// Dimensions that no request will ever have.
//
// A request that lacks a dimension of a limit skips that limit, so `per: [usr]` looks like a limit and is
// none. Any name may be right, since callers send what they like in `dimensions`; but of the names that no
// door gives a request by itself the author should hear, and most of all of slips.
namespace sluice {

// Where each comes from is told in docs/policies.md.
bool is_provided_dimension(std::string_view name);

// One warning for each such name, at the first limit that has it. `known`: names that were warned of before;
// gets the new ones.
std::vector<Problem> warn_of_dimensions(std::span<const WrittenPolicy> policies,
                                        std::set<std::string>& known);

// The same of policies that came through the API: "api.read: limits[0].per: …".
std::vector<std::string> dimension_warnings(std::span<const Policy> policies);

}  // namespace sluice

#pragma once

#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "document/problems.h"
#include "policy/document/policy_document.h"

// Warnings about dimensions that no request is likely to have.
//
// A request that lacks a dimension of a limit skips that limit, so `per: [usr]` looks like a limit but limits
// nothing. Any name may be right, because callers send what they like in `dimensions`. But the author gets a
// warning for each name that no endpoint fills in by itself, above all for likely typos.
namespace sluice {

// Whether an endpoint fills in this dimension. docs/policies.md says where each one comes from.
bool is_provided_dimension(std::string_view name);

// One warning for each such name, at the first limit that uses it. `known` holds the names that were already
// warned about; the new ones are added.
std::vector<Problem> warn_of_dimensions(std::span<const WrittenPolicy> policies,
                                        std::set<std::string>& known);

// The same for policies that came through the API: "api.read: limits[0].per: …".
std::vector<std::string> dimension_warnings(std::span<const Policy> policies);

}  // namespace sluice

#pragma once

#include <vector>

#include "policy/document/policy_document.h"
#include "policy/envoy/envoy_document.h"
#include "policy/envoy/envoy_names.h"

// Converts the limits of envoyproxy/ratelimit to Sluice policies.
//
// One descriptor of a request becomes one check: the tenant is the domain, and the resource holds the keys,
// then the values (envoy_resource). So a node of the tree becomes a policy whose resource has text for each
// fixed value and a parameter for each value that may be anything:
//
//   key a, value x → key b        /a.b/x/{b}        a = x, any b
//   key path, value /api/*        /path/%2Fapi%2F*
//
// Keys come first, so only patterns with the same keys in the same order compete. Among those, Sluice's order
// (text before parameters, from the left; then the longer prefix) is the same as Envoy's. Where a more
// specific node has no limit, or no child for the next key, Envoy finds no limit. There, a policy that never
// denies keeps the less specific policies from applying.
namespace sluice {

struct EnvoyPolicies {
  std::vector<WrittenPolicy> policies;
  std::size_t left_out = 0;  // limits that no policy can express; each has a warning
};

// Converts all domains together. Errors are added to `problems`, and then the result must not be used.
// Differences from the original are added to `warnings`.
EnvoyPolicies convert_envoy_domains(const std::vector<EnvoyDomain>& domains, Problems& problems,
                                    std::vector<Problem>& warnings);

}  // namespace sluice

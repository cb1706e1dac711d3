#pragma once

#include <vector>

#include "policy/document.h"
#include "policy/envoy_document.h"
#include "policy/envoy_names.h"

// The limits of envoyproxy/ratelimit as policies of ours.
//
// One descriptor of a request becomes one check: the tenant is the domain, and the resource holds the keys,
// then the values (envoy_resource). So a node of the tree is a policy whose resource has the values that must
// be these and parameters for those that may be any:
//
//   key a, value x → key b        /a.b/x/{b}        a = x, b whatever it is
//   key path, value /api/*        /path/%2Fapi%2F*
//
// Keys come first, so that only patterns with the same keys in the same order ever compete, and among them
// our order (text before parameters, from the left; the longer prefix) is theirs. Where a more specific node
// has no limit, or no child for the next key, theirs finds none: there a policy that never denies keeps the
// less specific ones away.
namespace sluice {

struct EnvoyPolicies {
  std::vector<WrittenPolicy> policies;
  std::size_t left_out = 0;  // limits that no policy can express; each has a warning
};

// All domains together. What cannot be is added to `problems`, and then the result is of no use; what differs
// from the original is added to `warnings`.
EnvoyPolicies convert_envoy_domains(const std::vector<EnvoyDomain>& domains, Problems& problems,
                                    std::vector<Problem>& warnings);

}  // namespace sluice

#pragma once

#include <string>
#include <vector>

#include "document/fields.h"
#include "policy/document/policy_document.h"

namespace sluice {

// Reads the document of multi-rate limiters, whose top-level field is `domains`:
//
//   {"domains": [{"domain": "api.example.com", "prefix": "user",
//                 "rate": {"capacity": 100, "leak_rate_per_second": 16.67},
//                 "rates": [{"name": "hour", "flow_rate_per_second": 0.5, "burst_capacity": 1000}]}]}
//
// Each entry becomes the policy `api.example.com:user` for the tenant `api.example.com` and the resource
// `user`, with one leaky_bucket limit per rate, per [key]; `rate` comes first and is called "rate". An entry
// without a prefix becomes the policy `api.example.com` for any resource. The order of the entries is kept.
//
// Adds the policies to `out`, and all errors to the problems of `top`.
void read_multi_rate_document(const DocumentNode& tree, const Place& top, std::vector<WrittenPolicy>& out);

// The id of the policy that an entry becomes.
std::string multi_rate_policy_id(const std::string& domain, const std::string& prefix);

}  // namespace sluice

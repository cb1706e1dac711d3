#pragma once

#include <string>
#include <vector>

#include "policy/document.h"
#include "policy/fields.h"

namespace sluice {

// The document of multi-rate limiters, whose top field is `domains`:
//
//   {"domains": [{"domain": "api.example.com", "prefix": "user",
//                 "rate": {"capacity": 100, "leak_rate_per_second": 16.67},
//                 "rates": [{"name": "hour", "flow_rate_per_second": 0.5, "burst_capacity": 1000}]}]}
//
// Each entry becomes the policy `api.example.com:user` for the tenant `api.example.com` and the resource
// `user`, with one leaky_bucket limit per rate, per [key]; `rate` comes first and is called "rate". An entry
// without a prefix becomes the policy `api.example.com` for any resource. The order of the entries stays.
//
// Adds the policies to `out`, and to the place's problems whatever is wrong.
void read_mr_document(const DocumentNode& tree, const Place& top, std::vector<WrittenPolicy>& out);

// The id of the policy that an entry becomes.
std::string mr_policy_id(const std::string& domain, const std::string& prefix);

}  // namespace sluice

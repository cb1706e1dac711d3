#pragma once

#include <string>
#include <string_view>

#include "policy/snapshot/snapshot.h"

// Finds the policy that counts a `limit_key` of the multi-rate API. The configuration of that API is a list
// of entries, each for a domain and a prefix (multi_rate_document.h).
namespace sluice {

// The domain used for a key whose own domain has no entry.
inline constexpr std::string_view kMrDefaultDomain = "default";

// The policy that counts a key if the default domain has no entry either: 100 at once, 10 per second.
Policy multi_rate_built_in();

// Whether an entry could have made this policy, whatever its source: its id is that of the entry for its
// tenant and resource, and all its limits are leaky buckets per [key].
bool is_multi_rate_entry(const Policy& policy);

// The key "user:123" of a domain is counted by the domain's entry with the prefix "user"; if several prefixes
// match, by the longest. Any other key is counted by the domain's first entry: the first in the files or, if
// they have none, the first by prefix. Null: the domain has no entry.
const CompiledPolicy* find_multi_rate_entry(const Snapshot& snapshot, std::string_view domain,
                                            std::string_view limit_key, std::string& scratch);

}  // namespace sluice

#pragma once

#include <string>
#include <string_view>

#include "policy/snapshot.h"

// Which policy counts a `limit_key` of the multi-rate API. Its configuration is a list of entries, each for a
// domain and a prefix (mr_document.h).
namespace sluice {

// Of a key whose domain has no entry.
inline constexpr std::string_view kMrDefaultDomain = "default";

// What counts a key if that domain has no entry either: 100 at once, 10 a second.
Policy mr_built_in();

// Whether an entry could have made this policy, wherever it was written: its id is that of the entry for its
// tenant and resource, and it has leaky buckets per [key] only.
bool is_mr_entry(const Policy& policy);

// "user:123" of a domain is counted by the domain's entry with the prefix "user"; of several that fit, by the
// longest. Any other key is counted by the domain's first entry: the first in the files or, if they have
// none, the first by its prefix. Null: the domain has no entry.
const CompiledPolicy* find_mr_entry(const Snapshot& snapshot, std::string_view domain,
                                    std::string_view limit_key, std::string& scratch);

}  // namespace sluice

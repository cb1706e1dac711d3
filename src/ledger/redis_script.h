#pragma once

#include <string_view>

namespace sluice::ledger {

// What Redis runs for a ledger, each call in one atomic step. KEYS are those of RedisKeys; ARGV begins with
// the name of the function:
//
//   append  expected head, number of documents D and of events E, D times (revision, document),
//           E times (at_us, revision), then fields and values, the new head last
//           → 1; 0 when the head is not the expected one, -1 when documents are missing: nothing was written
//   look    → the head, empty if there is none, and 1, or 0 when documents are missing
//   restore documents → puts them back into their set; 1, or 0 when documents are still missing
//   read    most bytes, revisions → their records, or nothing, until there are so many bytes
//   forget  revisions with what is left of their records → how many had not been forgotten before
std::string_view redis_ledger_script();

}  // namespace sluice::ledger

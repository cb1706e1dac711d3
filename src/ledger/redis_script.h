#pragma once

#include <string_view>

namespace sluice::ledger {

// What Redis runs for a ledger, each call in one atomic step. KEYS are those of RedisKeys; ARGV begins with
// the name of the function:
//
//   append  expected head, numbers of documents D, of fields F and of request ids R that go, D times
//   (revision,
//           document), the fields, the fields of request ids, which go if none of their records is left, then
//           fields and values, the new head last
//           → 1; 0 when the head is not the expected one, -1 when documents are missing: nothing was written
//   look    → the head, empty if there is none, and 1, or 0 when documents are missing
//   restore documents → puts them back into their set; 1, or 0 when documents are still missing
//   read    most bytes, revisions → their records, or nothing, until there are so many bytes
std::string_view redis_ledger_script();

}  // namespace sluice::ledger

#pragma once

#include <string_view>

namespace sluice::ledger {

// The script that Redis runs for a ledger; each call is one atomic step. KEYS are those of RedisKeys. ARGV
// begins with the name of the function:
//
//   append  ARGV: the expected head; the numbers of documents D, of fields F and of request ids R;
//           D times (revision, document); F fields to delete; R fields of request ids, which are deleted if
//           none of their records is left; then fields and values, the new head last
//           → 1: written; 0: the head is not the expected one; -1: documents are missing
//   look    → the head, empty if there is none; and 1, or 0 if documents are missing
//   restore ARGV: documents → puts them back into their set; 1, or 0 if documents are still missing
//   read    ARGV: the most bytes, revisions → their records, or nothing, until that many bytes are reached
std::string_view redis_ledger_script();

}  // namespace sluice::ledger

#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "ledger/ledger.h"

namespace sluice::ledger {

// A place in the chain that somebody noted earlier, away from the database.
struct NotedHash {
  std::int64_t revision = 0;
  std::string hash;  // 32 bytes
};

struct VerifiedLedger {
  std::int64_t revision = 0;  // of the last record, which is how many there are
  std::int64_t first_at_us = 0, last_at_us = 0;
  std::string hash;  // of the last record; who notes it can prove later that nothing before it was touched
};

// Reads the whole ledger and verifies that nobody has tampered with it: every record and its place in the
// chain, the end of it where the database knows that, the list that says which version of each document is
// the newest, the bodies of events from that instant on (older ones may be forgotten), and the noted hash.
// kFailedPrecondition says what was found, and at which revision; any other error is that of the database,
// and then nothing is known. Only reads; others may write meanwhile.
Result<VerifiedLedger> verify_ledger(Ledger& ledger, const std::optional<NotedHash>& noted,
                                     std::int64_t events_kept_from_us = INT64_MAX);

}  // namespace sluice::ledger

#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "ledger/anchor.h"
#include "ledger/ledger.h"

namespace sluice::ledger {

// A place in the chain that somebody noted earlier, away from the database.
struct NotedHash {
  std::int64_t revision = 0;
  std::string hash;  // 32 bytes
};

struct VerifiedLedger {
  std::int64_t revision = 0;  // of the last record
  std::int64_t records = 0;
  std::int64_t first_revision = 0, first_at_us = 0, last_at_us = 0;
  std::string hash;  // of the last record; who notes it can prove later that nothing before it was touched
  std::optional<Anchor> anchor;  // what was removed as old
};

struct VerifyOptions {
  std::optional<NotedHash> noted = {};
  std::int64_t kept_us = 0;  // records that are younger must not have been removed; 0: whatever was, is fine
};

// Reads the whole ledger and verifies that nobody has tampered with it: every record and its place in the
// chain, the end of it where the database knows that, what is left of records that were removed as old
// (anchor.h), the list that says which version of each document is the newest, and the noted hash.
// kFailedPrecondition says what was found, and at which revision; kNotFound: the noted record is one of those
// that were removed, and so proves nothing; any other error is that of the database, and then nothing is
// known. Only reads; others may write meanwhile.
Result<VerifiedLedger> verify_ledger(Ledger& ledger, const VerifyOptions& options = {});

}  // namespace sluice::ledger

#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "ledger/anchor.h"
#include "ledger/ledger.h"

namespace sluice::ledger {

// A position in the chain that was noted earlier, outside the database.
struct NotedHash {
  std::int64_t revision = 0;
  std::string hash;  // 32 bytes
};

struct VerifiedLedger {
  std::int64_t revision = 0;  // of the last record
  std::int64_t records = 0;
  std::int64_t first_revision = 0, first_at_us = 0, last_at_us = 0;
  std::string hash;  // of the last record; keep it to prove later that nothing before it was changed
  std::optional<Anchor> anchor;  // what was removed as old
};

struct VerifyOptions {
  std::optional<NotedHash> noted = {};
  std::int64_t kept_us = 0;  // newer records must not have been removed; 0: no requirement
};

// Reads the whole ledger and verifies that no one has tampered with it: every record and its place in the
// chain; the end of the chain, if the database stores it; the kept records among removed ones (anchor.h); the
// list of the newest versions of documents; and the noted hash. kFailedPrecondition says what was found, and
// at which revision. kNotFound: the noted record was removed as old, so it proves nothing. Any other error is
// the database's, and then nothing is known. Read-only; others may write meanwhile.
Result<VerifiedLedger> verify_ledger(Ledger& ledger, const VerifyOptions& options = {});

}  // namespace sluice::ledger

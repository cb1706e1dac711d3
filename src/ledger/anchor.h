#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "ledger/ledger.h"

// The anchor takes the place, in the chain, of old records that were removed.
//
//   1 · · 4 · 6 │ 7 8 9 10 11          · removed        │ the anchor's revision: 6
//   └ kept ─────┘ └ chain ──┘          11 is the anchor: the newest version of the document "audit", of the
//                                      kind "retention"
//
// After the anchor's revision no record is missing, and each is linked to the one before it; the anchor holds
// the hash that the first of them is linked to. Up to that revision some are missing, so the kept ones are
// not linked: the anchor has one hash over all of them, in order. The anchor is itself a record of the chain,
// so no one can remove a record, or put one back, without changing the chain.
namespace sluice::ledger {

inline constexpr std::string_view kAnchorName = "audit";  // of its document

struct Anchor {
  std::int64_t revision = 0;   // records up to here may be missing
  std::string hash;            // of that record, whether it was removed or not
  std::int64_t kept = 0;       // how many of them are kept
  std::string kept_hash;       // of all kept records: KeptHash
  std::int64_t removed = 0;    // by this step
  std::int64_t before_us = 0;  // all removed records were written before this

  friend bool operator==(const Anchor&, const Anchor&) = default;
};

// The draft of the next anchor. `version` is that of the previous one, 0 if there is none.
Draft draft_of(const Anchor& anchor, std::int64_t version);
// kFailedPrecondition: the record is not a valid anchor.
Result<Anchor> read_anchor(const Record& record);

// An anchor and its own record.
struct AnchorRecord {
  Anchor anchor;
  Record record;
};
// The newest anchor; none if nothing was ever removed.
Result<std::optional<AnchorRecord>> find_anchor(Ledger& ledger);

// Computes the hash of the kept records; feed them in order. Not thread-safe.
class KeptHash {
 public:
  void add(const Record& record);
  std::int64_t count() const { return count_; }
  const std::string& hash() const { return hash_; }

 private:
  std::int64_t count_ = 0;
  std::string hash_;
};

}  // namespace sluice::ledger

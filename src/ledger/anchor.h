#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "ledger/ledger.h"

// What stands in the chain for the records that were removed because they are old.
//
//   1 · · 4 · 6 │ 7 8 9 10 11          · removed        │ the anchor's revision: 6
//   └ kept ─────┘ └ chain ──┘          11 is the anchor: the newest version of the document "audit", of the
//                                      kind "retention"
//
// After the anchor's revision no record is missing, and each is linked to the one before it; the anchor knows
// the hash that the first of them is linked to. Up to it some are missing, so the others are linked to
// nothing: the anchor has one hash over all of them, in their order. It is itself a record of the chain, so
// nobody can remove a record, or put one back, without changing the chain.
namespace sluice::ledger {

inline constexpr std::string_view kAnchorName = "audit";  // of its document

struct Anchor {
  std::int64_t revision = 0;   // up to here records may be missing
  std::string hash;            // of that record, whether it is still there or not
  std::int64_t kept = 0;       // how many are still there
  std::string kept_hash;       // of all of them: KeptHash
  std::int64_t removed = 0;    // by this step
  std::int64_t before_us = 0;  // all of them were written before that

  friend bool operator==(const Anchor&, const Anchor&) = default;
};

// The draft of the next anchor. `version`: of the one before it, 0 if there is none.
Draft draft_of(const Anchor& anchor, std::int64_t version);
// kFailedPrecondition: the record is no anchor that makes sense.
Result<Anchor> read_anchor(const Record& record);

// An anchor and its own record.
struct AnchorRecord {
  Anchor anchor;
  Record record;
};
// The newest; none if nothing was ever removed.
Result<std::optional<AnchorRecord>> find_anchor(Ledger& ledger);

// Goes over kept records in order. Not thread-safe.
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

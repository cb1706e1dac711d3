#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "ledger/record.h"

// The chain that makes a ledger verifiable: every record's hash covers its content and the hash of the record
// before it, so no one can change, insert or remove a record without changing all that follow. With a copy of
// the newest hash kept elsewhere, one can prove that nothing before it was changed.
//
// hash = SHA-256( previous hash | revision | kind | name | version | action | actor | at_us | request_id |
//                 reason | SHA-256(body) ), each field as 8 bytes of length (big endian) and its bytes;
//                 numbers in decimal.
namespace sluice::ledger {

inline constexpr std::size_t kHashBytes = 32;

std::string sha256(std::string_view bytes);

// Whether every database can store this text as it is: UTF-8 without NUL.
bool can_store(std::string_view text);

// The steps of every append(), in this order. A ledger performs them between its own reads and writes.

// Checks the bounds of base/limits.h, that names and ids are present, that nothing is named twice, and every
// text with can_store().
Result<void> validate(const Change& change);

// Whether `records`, the outcome of an earlier change with this request id, are what `change` asks for. The
// time and the expected versions may differ: a retry has a later clock.
bool is_replay(const Change& change, std::span<const Record> records);
// The answer to a change whose request id was used before: those records, or kFailedPrecondition.
Result<std::vector<Record>> answer_again(const Change& change, std::vector<Record> records);

// The newest version of a document. All zero for events, and for documents that were never written.
struct Newest {
  std::int64_t version = 0;
  bool withdrawn = false;
};
// Compares what the author has seen with the current state (`newest`, parallel to the drafts, and the newest
// revision). Returns the versions for link(), or kStale.
Result<std::vector<std::int64_t>> check_expected(const Change& change, std::span<const Newest> newest,
                                                 std::int64_t last_revision);

// Builds the complete records of a change, with numbers and hashes. `versions`: the newest version of each
// draft's document, 0 if it has none. REQUIRES: change is valid; versions are parallel to its drafts.
std::vector<Record> link(const Change& change, std::span<const std::int64_t> versions,
                         std::int64_t last_revision, std::string_view last_hash);

// The hash that a record would have as the first of a chain: of itself alone.
std::string unlinked_hash(const Record& record);
// kFailedPrecondition: the body is not the one that was written.
Result<void> verify_body(const Record& record);

// Walks through a ledger and reports the first place where it was tampered with. Not thread-safe.
class ChainVerifier {
 public:
  // Starts after that record: see anchor.h.
  explicit ChainVerifier(std::int64_t revision = 0, std::string hash = "")
      : revision_(revision), hash_(std::move(hash)) {}
  // kFailedPrecondition: "revision 17: …". Do not feed more after an error.
  Result<void> feed(const Record& record);
  std::int64_t revision() const { return revision_; }
  const std::string& hash() const { return hash_; }  // of the last record

 private:
  std::int64_t revision_;
  std::string hash_;
};

}  // namespace sluice::ledger

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
// before it, so nobody can change, insert or remove one without changing all that follow. Who keeps the
// newest hash elsewhere can prove that nothing before it was touched.
//
// hash = SHA-256( previous hash | revision | kind | name | version | action | actor | at_us | request_id |
//                 reason | SHA-256(body) ), each field as 8 bytes of length (big endian) and its bytes;
//                 numbers in decimal.
namespace sluice::ledger {

inline constexpr std::size_t kHashBytes = 32;

std::string sha256(std::string_view bytes);

// The steps of every append(), in this order, for a ledger to do between the reads and writes that are its
// own.

// Bounds of base/limits.h, names and ids present, nothing named twice, every text UTF-8 without NUL: what
// each database can keep as it is.
Result<void> validate(const Change& change);

// Whether `records`, the outcome of an earlier change with this request id, are what `change` asks for. When
// it was asked and what its author had seen may differ: who tries again has a later clock.
bool is_replay(const Change& change, std::span<const Record> records);
// The answer to a change whose request id was seen before: those records, or kFailedPrecondition.
Result<std::vector<Record>> answer_again(const Change& change, std::vector<Record> records);

// The newest version of a document. Of events, and of what was never written: nothing.
struct Newest {
  std::int64_t version = 0;
  bool withdrawn = false;
};
// Compares what the authors saw with what there is (`newest`, parallel to the drafts; the newest revision of
// all): the versions for link(), or kStale.
Result<std::vector<std::int64_t>> check_expected(const Change& change, std::span<const Newest> newest,
                                                 std::int64_t last_revision);

// Makes the records of a change: numbers, hashes, everything. `versions`: the newest version of each draft's
// document, 0 if it has none. REQUIRES: change is valid; versions are parallel to its drafts.
std::vector<Record> link(const Change& change, std::span<const std::int64_t> versions,
                         std::int64_t last_revision, std::string_view last_hash);

// The hash that a record would have as the first of a chain: of itself alone.
std::string unlinked_hash(const Record& record);
// kFailedPrecondition: the body is not what was written.
Result<void> verify_body(const Record& record);

// Walks along a ledger and tells the first place where it was tampered with. Not thread-safe.
class ChainVerifier {
 public:
  // Begins behind that record: see anchor.h.
  explicit ChainVerifier(std::int64_t revision = 0, std::string hash = "")
      : revision_(revision), hash_(std::move(hash)) {}
  // kFailedPrecondition: "revision 17: …". After an error nothing more may be fed.
  Result<void> feed(const Record& record);
  std::int64_t revision() const { return revision_; }
  const std::string& hash() const { return hash_; }  // of the last record

 private:
  std::int64_t revision_;
  std::string hash_;
};

}  // namespace sluice::ledger

#include "ledger/verify.h"

#include <map>
#include <utility>

#include "base/encode.h"
#include "ledger/chain.h"

namespace sluice::ledger {
namespace {

constexpr std::size_t kRecordsAtATime = 1000;

std::unexpected<Error> tampered(std::int64_t revision, const std::string& what) {
  return std::unexpected(
      Error{ErrorCode::kFailedPrecondition, "revision " + std::to_string(revision) + ": " + what, ""});
}

// Follows the records, and remembers what they say about documents.
class LedgerWalk {
 public:
  explicit LedgerWalk(const std::optional<NotedHash>& noted) : noted_(noted) {}

  Result<void> feed(const Record& record) {
    if (auto good = verifier_.feed(record); !good) return good;
    if (record.revision == 1) found_.first_at_us = record.at_us;
    found_.last_at_us = record.at_us;
    found_.revision = record.revision;
    found_.hash = record.hash;
    if (record.kind != Kind::kEvent) newest_[{record.kind, record.name}] = record.revision;
    if (noted_ && noted_->revision == record.revision && noted_->hash != record.hash)
      return tampered(record.revision, "its hash is not the one that was noted, but " + to_hex(record.hash) +
                                           "; the ledger was rewritten");
    return {};
  }

  // The list of newest versions says the same as the records.
  Result<void> compare_documents(Ledger& ledger) {
    Result<void> outcome;
    auto read = ledger.for_each_document([&](Record&& document) {
      const auto known = newest_.find({document.kind, document.name});
      // What was written after our walk is newer than what we know.
      if (outcome && document.revision <= found_.revision &&
          (known == newest_.end() || known->second != document.revision))
        outcome = tampered(document.revision, "the list of documents calls it the newest version of " +
                                                  named(document.kind, document.name) + ", which it is not");
      if (known != newest_.end()) newest_.erase(known);
    });
    if (!read) return read;
    if (outcome && !newest_.empty()) {
      const auto& [document, revision] = *newest_.begin();
      return tampered(revision, "the list of documents has lost " + named(document.first, document.second));
    }
    return outcome;
  }

  const VerifiedLedger& found() const { return found_; }

 private:
  static std::string named(Kind kind, const std::string& name) {
    return std::string(to_string(kind)) + " '" + name + "'";
  }

  const std::optional<NotedHash>& noted_;
  ChainVerifier verifier_;
  VerifiedLedger found_;
  std::map<std::pair<Kind, std::string>, std::int64_t> newest_;
};

}  // namespace

Result<VerifiedLedger> verify_ledger(Ledger& ledger, const std::optional<NotedHash>& noted) {
  const auto end = ledger.revision();
  if (!end) return std::unexpected(end.error());
  LedgerWalk walk(noted);
  while (true) {
    const auto records = ledger.read_after(walk.found().revision, kRecordsAtATime);
    if (!records) return std::unexpected(records.error());
    for (const Record& record : *records)
      if (auto good = walk.feed(record); !good) return std::unexpected(good.error());
    if (records->size() < kRecordsAtATime) break;
  }
  const std::int64_t last = walk.found().revision;
  if (last < *end) return tampered(last + 1, "it is missing, with everything after it");
  if (noted && noted->revision > last)
    return tampered(last + 1, "it is missing; the ledger was noted to reach revision " +
                                  std::to_string(noted->revision) + ", and its end was cut off");
  if (auto good = walk.compare_documents(ledger); !good) return std::unexpected(good.error());
  return walk.found();
}

}  // namespace sluice::ledger

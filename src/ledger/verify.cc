#include "ledger/verify.h"

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <utility>

#include "base/encode.h"
#include "ledger/chain.h"
#include "ledger/record_row.h"

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
  LedgerWalk(const std::optional<NotedHash>& noted, std::int64_t events_kept_from_us)
      : noted_(noted), events_kept_from_us_(events_kept_from_us) {}

  Result<void> feed(const Record& record) {
    if (auto good = verifier_.feed(record); !good) return good;
    if (record.revision == 1) found_.first_at_us = record.at_us;
    found_.last_at_us = record.at_us;
    found_.revision = record.revision;
    found_.hash = record.hash;
    if (record.kind != Kind::kEvent)
      newest_[{std::string(to_string(record.kind)), record.name}] = {record.revision, record.version,
                                                                     record.is_withdrawn()};
    else if (record.body.empty() && record.body_hash != sha256("") && record.at_us >= events_kept_from_us_)
      return tampered(record.revision, "its body is gone, and it is too young to be forgotten");
    if (noted_ && noted_->revision == record.revision && noted_->hash != record.hash)
      return tampered(record.revision, "its hash is not the one that was noted, but " + to_hex(record.hash) +
                                           "; the ledger was rewritten");
    return {};
  }

  // The list of documents says the same as the records, and those that it names are there.
  Result<void> compare_documents(Ledger& ledger) {
    Result<void> outcome;
    std::set<Name> listed;
    std::int64_t last_listed = 0;
    auto read = ledger.for_each_listing([&](Listing&& listing) {
      if (outcome) outcome = compare(listing);
      last_listed = std::max(last_listed, listing.revision);
      listed.emplace(std::move(listing.kind), std::move(listing.name));
    });
    if (!read || !outcome) return read ? outcome : read;
    for (const auto& [name, newest] : newest_) {
      if (listed.contains(name)) continue;
      const auto rewritten = is_newer(ledger, name);  // and not listed where it was
      if (!rewritten) return std::unexpected(rewritten.error());
      if (!*rewritten) return tampered(newest.revision, "the list of documents has lost " + text_of(name));
    }
    const auto end = ledger.revision();
    if (!end) return std::unexpected(end.error());
    if (last_listed > *end) return std::unexpected(missing_record(last_listed));
    return ledger.for_each_document([](Record&&) {});
  }

  const VerifiedLedger& found() const { return found_; }

 private:
  using Name = std::pair<std::string, std::string>;  // kind and name
  struct Newest {
    std::int64_t revision = 0;
    std::int64_t version = 0;
    bool withdrawn = false;
  };
  static std::string text_of(const Name& name) { return name.first + " '" + name.second + "'"; }

  // Whether it was written after our walk.
  Result<bool> is_newer(Ledger& ledger, const Name& name) const {
    const auto kind = kind_from(name.first);
    if (!kind) return false;
    const auto newest = ledger.history(*kind, name.second, std::numeric_limits<std::int64_t>::max(), 1);
    if (!newest) return std::unexpected(newest.error());
    return !newest->empty() && newest->front().revision > found_.revision;
  }

  // What was written after our walk is newer than what we know.
  Result<void> compare(const Listing& listing) const {
    if (listing.revision > found_.revision) return {};
    const Name name{listing.kind, listing.name};
    const auto known = newest_.find(name);
    if (known == newest_.end() || known->second.revision != listing.revision)
      return tampered(listing.revision, "the list of documents calls it the newest version of " +
                                            text_of(name) + ", which it is not");
    if (known->second.version != listing.version || known->second.withdrawn != listing.withdrawn)
      return tampered(listing.revision, "the list of documents calls it version " +
                                            std::to_string(listing.version) + " of " + text_of(name) +
                                            (listing.withdrawn ? ", withdrawn" : "") + ", which it is not");
    return {};
  }

  const std::optional<NotedHash>& noted_;
  const std::int64_t events_kept_from_us_;
  ChainVerifier verifier_;
  VerifiedLedger found_;
  std::map<Name, Newest> newest_;
};

}  // namespace

Result<VerifiedLedger> verify_ledger(Ledger& ledger, const std::optional<NotedHash>& noted,
                                     std::int64_t events_kept_from_us) {
  const auto end = ledger.revision();
  if (!end) return std::unexpected(end.error());
  LedgerWalk walk(noted, events_kept_from_us);
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

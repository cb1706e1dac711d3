#include "ledger/verify.h"

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <utility>

#include "base/text/encode.h"
#include "base/time_units.h"
#include "base/try.h"
#include "ledger/chain.h"
#include "ledger/record_row.h"

namespace sluice::ledger {
namespace {

constexpr std::size_t kRecordsAtOnce = 1000;

std::unexpected<Error> tampered(std::int64_t revision, const std::string& what) {
  return std::unexpected(
      Error{ErrorCode::kFailedPrecondition, "revision " + std::to_string(revision) + ": " + what, ""});
}

// Goes through the records and remembers what they say about documents.
class LedgerWalk {
 public:
  LedgerWalk(const VerifyOptions& options, std::optional<AnchorRecord> anchor)
      : options_(options), anchor_(std::move(anchor)) {
    if (!anchor_) return;
    verifier_ = ChainVerifier(anchor_->anchor.revision, anchor_->anchor.hash);
    found_.anchor = anchor_->anchor;
  }

  Result<void> feed(const Record& record) {
    const bool is_kept = anchor_ && record.revision <= anchor_->anchor.revision;
    SLUICE_TRY(is_kept ? feed_kept(record) : feed_chain(record));
    if (++found_.records == 1) {
      found_.first_revision = record.revision;
      found_.first_at_us = record.at_us;
    }
    found_.last_at_us = record.at_us;
    found_.revision = record.revision;
    found_.hash = record.hash;
    if (record.kind != Kind::kEvent)
      newest_[{std::string(to_string(record.kind)), record.name}] = {record.revision, record.version,
                                                                     record.is_withdrawn()};
    if (options_.noted && options_.noted->revision == record.revision) return compare_noted(record.hash);
    return {};
  }

  // Called after the last record.
  Result<void> finish() {
    const std::int64_t last = found_.revision;
    if (anchor_) {
      SLUICE_TRY(compare_kept());
      if (!saw_anchor_) return tampered(anchor_->record.revision, "it is not the original record");
    }
    const auto& noted = options_.noted;
    if (!noted || noted_is_there_) return {};
    if (noted->revision > last)
      return tampered(last + 1, "it is missing; the ledger was noted to reach revision " +
                                    std::to_string(noted->revision) + ", and its end was cut off");
    if (anchor_ && noted->revision == anchor_->anchor.revision) return compare_noted(anchor_->anchor.hash);
    return std::unexpected(Error{
        ErrorCode::kNotFound,
        "revision " + std::to_string(noted->revision) +
            " was pruned, so its hash no longer proves anything; the remaining ledger, up to revision " +
            std::to_string(last) + ", is consistent: note its hash instead",
        ""});
  }

  // Checks that the list of documents agrees with the records, and that the listed records exist.
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
      const bool rewritten = SLUICE_TRY(is_newer(ledger, name));  // if so, it moved in the list
      if (!rewritten) return tampered(newest.revision, "the list of documents has lost " + text_of(name));
    }
    const auto end = SLUICE_TRY(ledger.revision());
    if (last_listed > end) return std::unexpected(missing_record(last_listed));
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
  // Kept records are not linked: there may be gaps.
  Result<void> feed_kept(const Record& record) {
    if (record.revision <= found_.revision) return tampered(record.revision, "it appears twice");
    kept_.add(record);
    return verify_body(record);
  }

  Result<void> feed_chain(const Record& record) {
    SLUICE_TRY(compare_kept());
    SLUICE_TRY(verifier_.feed(record));
    if (!anchor_ || record.revision != anchor_->record.revision) return {};
    saw_anchor_ = record == anchor_->record;
    const std::int64_t kept_us = record.at_us - anchor_->anchor.before_us;
    if (kept_us < options_.kept_us)
      return tampered(record.revision,
                      "it removed records that were only " + std::to_string(kept_us / kDayUs) + " days old");
    return {};
  }

  Result<void> compare_kept() {
    if (!anchor_ || std::exchange(compared_kept_, true)) return {};
    const Anchor& anchor = anchor_->anchor;
    if (kept_.count() == anchor.kept && kept_.hash() == anchor.kept_hash) return {};
    return tampered(anchor.revision, "the records kept up to it are not those that revision " +
                                         std::to_string(anchor_->record.revision) +
                                         " states, or they were changed");
  }

  Result<void> compare_noted(const std::string& hash) {
    noted_is_there_ = true;
    if (options_.noted->hash == hash) return {};
    return tampered(options_.noted->revision, "its hash is not the one that was noted, but " + to_hex(hash) +
                                                  "; the ledger was rewritten");
  }

  static std::string text_of(const Name& name) { return name.first + " '" + name.second + "'"; }

  // Whether it was written after our walk.
  Result<bool> is_newer(Ledger& ledger, const Name& name) const {
    const auto kind = kind_from(name.first);
    if (!kind) return false;
    const auto newest =
        SLUICE_TRY(ledger.history(*kind, name.second, std::numeric_limits<std::int64_t>::max(), 1));
    return !newest.empty() && newest.front().revision > found_.revision;
  }

  // A listing that was written after our walk is newer than what we know.
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

  const VerifyOptions& options_;
  const std::optional<AnchorRecord> anchor_;
  KeptHash kept_;
  bool compared_kept_ = false;
  bool saw_anchor_ = false;
  bool noted_is_there_ = false;
  ChainVerifier verifier_;
  VerifiedLedger found_;
  std::map<Name, Newest> newest_;
};

Result<VerifiedLedger> walk_along(Ledger& ledger, const VerifyOptions& options,
                                  const std::optional<AnchorRecord>& anchor) {
  const auto end = SLUICE_TRY(ledger.revision());
  LedgerWalk walk(options, anchor);
  while (true) {
    const auto records = SLUICE_TRY(ledger.read_after(walk.found().revision, kRecordsAtOnce));
    for (const Record& record : records) SLUICE_TRY(walk.feed(record));
    if (records.empty()) break;
  }
  const std::int64_t last = walk.found().revision;
  if (last < end) return tampered(last + 1, "it is missing, with everything after it");
  SLUICE_TRY(walk.finish());
  SLUICE_TRY(walk.compare_documents(ledger));
  return walk.found();
}

}  // namespace

Result<VerifiedLedger> verify_ledger(Ledger& ledger, const VerifyOptions& options) {
  constexpr int kAttemptsMax = 10;
  for (int attempt = 1;; ++attempt) {
    const auto anchor = SLUICE_TRY(find_anchor(ledger));
    auto found = walk_along(ledger, options, anchor);
    if (found || attempt == kAttemptsMax) return found;
    // If another process prunes ahead of us, records are missing where we expect them.
    const auto now = find_anchor(ledger);
    const auto version = [](const std::optional<AnchorRecord>& of) { return of ? of->record.version : 0; };
    if (!now || version(*now) == version(anchor)) return found;
  }
}

}  // namespace sluice::ledger

#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "control/ledger_copy.h"
#include "ledger/ledger.h"

namespace sluice::control {

// Keeps one kind of document in force: parses, validates and applies the bodies. Belongs to the control
// plane's thread.
class DocumentRegistry {
 public:
  virtual ~DocumentRegistry() = default;
  // The error that apply() would report for these drafts together; its `item`, if any, is the position of the
  // draft. Changes nothing.
  virtual Result<void> check(std::span<const ledger::Draft* const> drafts) = 0;
  // Applies the newest versions of documents, ordered by revision: all of them at the start; later, each
  // change together with documents that could not come into force before. Returns the documents that cannot
  // be in force now, as name and sentence; all others are. If registries of different nodes get the same
  // documents, in whatever portions, the same ones are in force.
  virtual std::map<std::string, std::string> apply(std::span<const ledger::Record* const> records) = 0;
  // The same at a start without the ledger: these were the newest versions when the copy was made. The
  // ledger's versions follow later through apply(), even if they are the same.
  virtual std::map<std::string, std::string> apply_copy(std::span<const ledger::Record* const> records) {
    return apply(records);
  }
};

// Follows a ledger, puts what is written there into force, and writes this node's changes. Belongs to the
// control plane's thread; calls may block.
//
//   LedgerFollower follower(ledger);
//   follower.add(ledger::Kind::kPolicy, policies);
//   follower.load();                          // at the start; again until it succeeds
//   if (ledger.wait(1000)) follower.follow();  // what other nodes wrote
//   auto written = follower.write(change);     // validated, written, in force: in this order
//
// Nodes that write at the same time cannot contradict each other: a change is written only if nothing else
// was written since it was validated; otherwise it is validated again. A record that this version of Sluice
// does not understand is reported as a problem and skipped; what was in force under its name stays. A record
// that conflicts with other records (not written by this code) or with policy files is a problem until the
// conflict is gone.
//
// A database may come back as it was some time ago: restored from a copy, or failed over to a replica that
// was behind. Records that are written then take the numbers of lost ones, and nodes that had applied those
// would differ from others for good. So every look begins with the newest record that is applied; unless that
// is still the same, nothing is followed and nothing written, until it is there again. A start asks the same
// about the newest record that the copy knows; without a copy it takes the database's word. If there is a
// copy that cannot be read, it does the same, and says so for as long as it runs.
class LedgerFollower {
 public:
  explicit LedgerFollower(ledger::Ledger& ledger) : ledger_(ledger) {}
  LedgerFollower(const LedgerFollower&) = delete;
  LedgerFollower& operator=(const LedgerFollower&) = delete;

  // REQUIRES: called before load(); `documents` outlives this object.
  void add(ledger::Kind kind, DocumentRegistry& documents) { kinds_[kind] = &documents; }

  // Keeps a copy of what is in force there. REQUIRES: called before load(); the copy outlives this object.
  void keep_in(LedgerCopy& copy) { copy_ = &copy; }

  // If a record is missing, what the others say is in force nevertheless. Nothing is, if the ledger has gone
  // back behind the copy.
  Result<void> load();
  // Puts the contents of the copy into force while the ledger cannot be read; load() later removes what is
  // not in the ledger. If load() could read some documents although others are missing, the ledger's versions
  // of those win. Returns a sentence that describes the copy; none: there is no usable copy. REQUIRES: load()
  // has not succeeded.
  std::optional<std::string> restore();
  // Updates the copy, if it is time. Call it every second.
  Result<void> keep_copy(const Clock& clock);
  Result<void> follow();
  // Removes older records from the audit log, a batch per call; see ledger/prune.h. Returns how many.
  Result<std::int64_t> prune(std::int64_t before_us, std::int64_t now_us);
  // Loads or follows, whichever is due.
  Result<void> refresh() { return loaded_ ? follow() : load(); }
  // Retries documents that could not come into force, after something other than the ledger has changed.
  void try_again() { bring_into_force({}, true); }
  // Writes a change. If the same request was written before, it is not applied again; the answer is the
  // earlier one. `may` is called on the state that the change is based on, again whenever that moves: it
  // decides whether the author may change what others have written by now.
  using Permission = std::function<Result<void>()>;
  Result<std::vector<ledger::Record>> write(ledger::Change change, const Permission& may = {});
  // The errors that write() would report, as far as they can be known in advance. The `item` of an error, if
  // any, is the position of the draft.
  Result<void> check(const ledger::Change& change);

  ledger::Ledger& ledger() { return ledger_; }
  bool is_loaded() const { return loaded_; }
  std::int64_t revision() const { return revision_; }  // everything up to here is applied
  // Why the ledger refused the latest change although it answers; empty: it accepted it, or there was none.
  const std::string& write_trouble() const { return write_trouble_; }
  // Why the copy could not be read at the start, so that nobody can tell whether the ledger has gone back
  // since the last run; empty: it could, or there was none.
  const std::string& copy_trouble() const { return copy_trouble_; }
  // One sentence for each document whose newest version is not in force, and one for a copy that could not be
  // read.
  std::vector<std::string> problems() const;
  // The newest version of a document with such a problem, or null.
  const ledger::Record* not_in_force(ledger::Kind kind, std::string_view name) const;

 private:
  using Newest = std::map<std::pair<ledger::Kind, std::string_view>, const ledger::Record*>;

  // Sets copy_trouble() if there is a copy that cannot be read.
  Result<LedgerCopy::Contents> read_copy();
  // The ledger has the newest record that the copy knew at the start.
  Result<void> recognize_copy();
  Error went_back() const;
  // Leaves them in `documents`.
  Result<void> apply_documents(std::int64_t revision, std::vector<ledger::Record>& documents);
  void take_back_restored(std::vector<ledger::Record>& documents) const;
  Result<void> note_newest(std::int64_t revision);
  Error lost() const;
  Result<void> replace_copy();
  // Checks the newest applied record after it was pruned from the ledger: it must be the one that was there.
  Result<void> recognize_removed() const;
  // What the same request wrote before, if it did; otherwise `error`.
  Result<std::vector<ledger::Record>> answer_of_then(const ledger::Change& change, Error error);
  // Puts what was written into force, preceded by what other nodes wrote before it, if anything.
  Result<void> catch_up(std::span<const ledger::Record> written);
  enum class Source : std::uint8_t { kLedger, kCopy };
  void apply(std::span<const ledger::Record> records, Source source = Source::kLedger);
  // Passes records to the registry of their kind, together with the problems of that kind, or with all
  // problems.
  void bring_into_force(Newest newest, bool with_all_problems, Source source = Source::kLedger);

  // Without a name if there is none.
  Result<ledger::Record> newest_version(ledger::Kind kind, const std::string& name);

  ledger::Ledger& ledger_;
  std::map<ledger::Kind, DocumentRegistry*> kinds_;
  LedgerCopy* copy_ = nullptr;                               // null: none is kept
  std::optional<LedgerCopy::Contents> known_;                // by the copy at the start; without documents
  std::set<std::pair<ledger::Kind, std::string>> restored_;  // in force by the copy's word
  bool loaded_ = false;
  std::int64_t revision_ = 0;
  std::string hash_;  // of the record of that revision
  std::string write_trouble_;
  std::string copy_trouble_;
  // Documents up to this revision were applied although others were missing, and these are the ones applied.
  std::optional<std::int64_t> salvaged_;
  std::set<std::pair<ledger::Kind, std::string>> salvaged_documents_;
  struct Problem {
    ledger::Record record;  // to be retried; without a name if the problem concerns no single document
    std::string sentence;
  };
  using Problems = std::map<std::pair<ledger::Kind, std::string>, Problem>;
  Problems problems_;
};

}  // namespace sluice::control

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

// Keeps one kind of document in force: reads bodies, validates them, applies them. Belongs to the control
// plane's thread.
class Keeper {
 public:
  virtual ~Keeper() = default;
  // The error that apply() would have to report for these drafts together. Nothing happens.
  virtual Result<void> check(std::span<const ledger::Draft* const> drafts) = 0;
  // These are the newest versions of their documents, by revision: all at the start, and every change later
  // together with what could not be brought into force before. Returns what cannot be now, a sentence by the
  // document's name; the rest is. When keepers of different nodes were given the same documents, in whatever
  // portions, the same are in force.
  virtual std::map<std::string, std::string> apply(std::span<const ledger::Record* const> records) = 0;
  // The same at a start without the ledger: these were the newest versions when a copy was made of it. What
  // the ledger says comes with apply() later, also where it is the same.
  virtual std::map<std::string, std::string> apply_copy(std::span<const ledger::Record* const> records) {
    return apply(records);
  }
};

// Everything the control plane knows: follows a ledger, and brings into force what is written there. Belongs
// to the control plane's thread, which may block in it.
//
//   Registry registry(ledger);
//   registry.add(ledger::Kind::kPolicy, policies);
//   registry.load();                          // at the start; again until it succeeds
//   if (ledger.wait(1000)) registry.follow();  // what other nodes wrote
//   auto written = registry.write(change);    // validated, written, in force: in this order
//
// Nodes that write at once cannot come to contradict each other: a change is written only if nothing was
// since it was validated, otherwise it is validated again. A record that this version does not understand is
// a problem and is left out; what was in force under its name stays. One that cannot be in force beside
// others, which somebody else must have written, or beside policy files, is a problem until it can.
//
// A database may come back as it was some time ago: restored from a copy, or failed over to a replica that
// was behind. Records that are written then take the numbers of lost ones, and nodes that had applied those
// would differ from others for good. So every look begins with the newest record that is applied; unless that
// is still the same, nothing is followed and nothing written, until it is there again or the process starts
// anew.
class Registry {
 public:
  explicit Registry(ledger::Ledger& ledger) : ledger_(ledger) {}
  Registry(const Registry&) = delete;
  Registry& operator=(const Registry&) = delete;

  // REQUIRES: before load(); the keeper outlives this.
  void add(ledger::Kind kind, Keeper& keeper) { keepers_[kind] = &keeper; }

  // From now on what is in force is kept there, too. REQUIRES: before load(); the copy outlives this.
  void keep_in(LedgerCopy& copy) { copy_ = &copy; }

  // If a record is missing, what the others say is in force nevertheless.
  Result<void> load();
  // Brings into force what the copy has, while the ledger cannot be read; load() takes back what is not in
  // the ledger. Of documents that could be read though others are missing the ledger's word counts. A
  // sentence about what that is; none: there is no copy that can be used. REQUIRES: load() has not succeeded.
  std::optional<std::string> restore();
  // Brings the copy up to date, if it is time. To be called every second.
  Result<void> keep_copy(const Clock& clock);
  Result<void> follow();
  // Removes records of the audit log that are older, a step of many; see ledger/prune.h. Returns how many.
  Result<std::int64_t> prune(std::int64_t before_us, std::int64_t now_us);
  // Whichever of the two is due.
  Result<void> refresh() { return loaded_ ? follow() : load(); }
  // Brings documents into force that could not be, now that something other than the ledger has changed.
  void try_again() { bring_into_force({}, true); }
  // A change that was written before, by the same request, is not applied again: its answer is that of then.
  // `may` is asked on the very state that the change is made to, as often as that moves: whether its author
  // may change what others have written by now.
  using Permission = std::function<Result<void>()>;
  Result<std::vector<ledger::Record>> write(ledger::Change change, const Permission& may = {});
  // The errors that write() would report, as far as they can be known.
  Result<void> check(const ledger::Change& change);

  ledger::Ledger& ledger() { return ledger_; }
  bool is_loaded() const { return loaded_; }
  std::int64_t revision() const { return revision_; }  // up to here everything is applied
  // Why the ledger did not take the latest change although it answers; empty: it took it, or was not asked.
  const std::string& write_trouble() const { return write_trouble_; }
  // Of documents that are not in force as they are written.
  std::vector<std::string> problems() const;
  // The newest version of a document that has such a problem, or null.
  const ledger::Record* not_in_force(ledger::Kind kind, std::string_view name) const;

 private:
  using Newest = std::map<std::pair<ledger::Kind, std::string_view>, const ledger::Record*>;

  Result<void> apply_documents(std::int64_t revision);
  void take_back_restored(std::vector<ledger::Record>& documents) const;
  Result<void> note_newest(std::int64_t revision);
  Error lost() const;
  Result<void> replace_copy();
  // The newest record that is applied was removed as old, and is the one that was.
  Result<void> recognize_removed() const;
  // What the same request wrote before, if it did; otherwise the error.
  Result<std::vector<ledger::Record>> answer_of_then(const ledger::Change& change, Error error);
  // Brings what was written into force, if need be with what others wrote before it.
  Result<void> catch_up(std::span<const ledger::Record> written);
  enum class Source : std::uint8_t { kLedger, kCopy };
  void apply(std::span<const ledger::Record> records, Source source = Source::kLedger);
  // By kind, to its keeper, together with problems of the same kind, or with all of them.
  void bring_into_force(Newest newest, bool with_all_problems, Source source = Source::kLedger);

  ledger::Ledger& ledger_;
  std::map<ledger::Kind, Keeper*> keepers_;
  LedgerCopy* copy_ = nullptr;                               // null: none is kept
  std::set<std::pair<ledger::Kind, std::string>> restored_;  // in force by the copy's word
  bool loaded_ = false;
  std::int64_t revision_ = 0;
  std::string hash_;  // of the record of that revision
  std::string write_trouble_;
  // Up to there documents were applied though others were missing: these.
  std::optional<std::int64_t> salvaged_;
  std::set<std::pair<ledger::Kind, std::string>> salvaged_documents_;
  struct Problem {
    ledger::Record record;  // to be tried again; without a name, if it is not about one
    std::string sentence;
  };
  using Problems = std::map<std::pair<ledger::Kind, std::string>, Problem>;
  Problems problems_;
};

}  // namespace sluice::control

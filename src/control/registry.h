#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ledger/ledger.h"

namespace sluice::control {

// Keeps one kind of document in force: reads bodies, validates them, applies them. Belongs to the control
// plane's thread.
class Keeper {
 public:
  virtual ~Keeper() = default;
  // The error that apply() would have to report for these drafts together. Nothing happens.
  virtual Result<void> check(std::span<const ledger::Draft* const> drafts) = 0;
  // These are the newest versions of their documents: all at the start, and every change later. Returns what
  // could not be brought into force, a sentence by the document's name; the rest is.
  virtual std::map<std::string, std::string> apply(std::span<const ledger::Record* const> records) = 0;
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
// A record that this version does not understand, or that cannot be in force beside the policy files, is a
// problem and is left out; what was in force under its name stays.
class Registry {
 public:
  explicit Registry(ledger::Ledger& ledger) : ledger_(ledger) {}
  Registry(const Registry&) = delete;
  Registry& operator=(const Registry&) = delete;

  // REQUIRES: before load(); the keeper outlives this.
  void add(ledger::Kind kind, Keeper& keeper) { keepers_[kind] = &keeper; }

  Result<void> load();
  Result<void> follow();
  // A change that was written before, by the same request, is not applied again.
  Result<std::vector<ledger::Record>> write(const ledger::Change& change);
  // The errors that write() would report, as far as they can be known.
  Result<void> check(const ledger::Change& change);

  ledger::Ledger& ledger() { return ledger_; }
  bool is_loaded() const { return loaded_; }
  std::int64_t revision() const { return revision_; }  // up to here everything is applied
  // Of documents that are not in force as they are written.
  std::vector<std::string> problems() const;

 private:
  Result<void> apply_documents();
  // The newest of each name, by kind, to its keeper.
  void apply(std::span<const ledger::Record> records);

  ledger::Ledger& ledger_;
  std::map<ledger::Kind, Keeper*> keepers_;
  bool loaded_ = false;
  std::int64_t revision_ = 0;
  std::map<std::pair<ledger::Kind, std::string>, std::string> problems_;
};

}  // namespace sluice::control

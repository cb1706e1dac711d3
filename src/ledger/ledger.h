#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ledger/record.h"

namespace sluice::ledger {

// An entry of the list of documents: where the newest version of a document is. This is what the database
// says; it may be wrong if the database was tampered with.
struct Listing {
  std::string kind;  // "policy"
  std::string name;
  std::int64_t version = 0;
  bool withdrawn = false;
  std::int64_t revision = 0;
};

// The durable storage of the control plane: an append-only list of records, each linked to the one before it
// by a hash (except for old records that prune.h has kept). Documents (policies, users, tokens, …) have
// numbered versions. A change is a new version; a rollback is a new version equal to an old one. So the
// ledger is both the database and the audit log, and a follower sees every change.
//
// Belongs to one thread, and calls may block; only interrupt() may be called from other threads. Many
// processes may use the same database. Every call returns: if the database does not answer, it fails with
// kUnavailable after a few seconds, and the next call tries to connect again.
//
//   auto written = ledger.append({.drafts = {{Kind::kPolicy, "api.read", "update", document, 46}},
//                                 .actor = "token ops-1", .reason = "noon peak", .at_us = clock.now_us()});
//   if (!written) return report(written.error());   // kStale: another writer was faster
//
// Errors: kUnavailable (the database), kStale (not the expected version or revision), kFailedPrecondition
// (the request id belongs to another change), kInvalidArgument (bounds of base/limits.h).
class Ledger {
 public:
  virtual ~Ledger() = default;

  // Writes all drafts of the change, durably, in one atomic step, and returns their records. If the actor and
  // request_id were used before, returns the earlier records (if the change is the same, else it fails).
  Result<std::vector<Record>> append(const Change& change) { return append(change, {}); }
  // The same, and removes these records in the same step: for prune.h, whose change records the removal.
  // REQUIRES: they are ordered by revision, and none is the newest version of a document.
  virtual Result<std::vector<Record>> append(const Change& change, std::span<const Record> removed) = 0;

  // The newest revision; 0: nothing was ever written.
  virtual Result<std::int64_t> revision() = 0;

  // A page of the records above `revision`, in order, at most `max`: for followers and audits. Whatever `max`
  // is, a page may end after kLedgerPageMin records, and it ends once their bodies have kLedgerPageBytes. So
  // the last page is the empty one.
  virtual Result<std::vector<Record>> read_after(std::int64_t revision, std::size_t max) = 0;

  // Calls `visit` with the newest version of every document, in no particular order. Withdrawn documents are
  // included (their versions must not be reused). What is written during the call may be left out: call
  // revision() before, and read_after() that revision afterwards. kFailedPrecondition: the record of a
  // document is missing or invalid; all others were visited.
  virtual Result<void> for_each_document(const std::function<void(Record&&)>& visit) = 0;

  // Calls `visit` with the list of documents, in no particular order: for audits, which compare it with the
  // records. What is written during the call may appear twice or be left out.
  virtual Result<void> for_each_listing(const std::function<void(Listing&&)>& visit) = 0;

  // One version of a document; none if it does not exist.
  virtual Result<std::optional<Record>> find(Kind kind, std::string_view name, std::int64_t version) = 0;

  // A page, as above, of the versions of a document below `version` (INT64_MAX: all), newest first.
  virtual Result<std::vector<Record>> history(Kind kind, std::string_view name, std::int64_t version,
                                              std::size_t max) = 0;

  // What this actor wrote with this request id, in order; empty if there is no such change, or the id is
  // empty.
  virtual Result<std::vector<Record>> find_request(const std::string& actor,
                                                   const std::string& request_id) = 0;

  // Waits until another process may have written something, until interrupt(), or until the timeout. A first
  // wait, or one after a reconnect, may end at once: nothing is missed between reading and waiting. False:
  // the database cannot be watched at present (it may be down). Then it returns after a short pause, so that
  // a loop around it does not spin.
  virtual bool wait(int timeout_ms) = 0;
  // Ends a wait() in progress, or the next one. Thread-safe.
  virtual void interrupt() = 0;

  // Drops the connection: a call was broken off, and it is unknown which answers are still outstanding.
  virtual void start_over() noexcept = 0;

  // The location, for logs and problems, without secrets: "sqlite:./sluice.db".
  virtual std::string name() const = 0;
};

}  // namespace sluice::ledger

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

// What the list of documents says about one: where its newest version is. The database's own words, which may
// be wrong if somebody has changed them.
struct Listing {
  std::string kind;  // "policy"
  std::string name;
  std::int64_t version = 0;
  bool withdrawn = false;
  std::int64_t revision = 0;
};

// The durable memory of the control plane: an append-only list of records, each linked to the one before it
// by a hash (but for what prune.h has left of old ones). Documents (policies, users, tokens, …) have numbered
// versions, a change is a new version, and going back is a new version equal to an old one. So the ledger is
// at once the database and the audit log, and whoever follows it knows everything.
//
// Belongs to one thread, which may block in it; only interrupt() may be called from others. Many processes
// may use the same database. Every call ends: a database that does not answer is kUnavailable after a few
// seconds, and the next call tries to connect again.
//
//   auto written = ledger.append({.drafts = {{Kind::kPolicy, "api.read", "update", document, 46}},
//                                 .actor = "token ops-1", .reason = "noon peak", .at_us = clock.now_us()});
//   if (!written) return report(written.error());   // kStale: somebody else was faster
//
// Errors: kUnavailable (the database), kStale (not the expected version or revision), kFailedPrecondition
// (the request id belongs to another change), kInvalidArgument (bounds of base/limits.h).
class Ledger {
 public:
  virtual ~Ledger() = default;

  // Writes all drafts of the change, durably, in one atomic step, and returns their records. A change whose
  // actor and request_id were seen before returns the records of then (if it says the same, else it fails).
  Result<std::vector<Record>> append(const Change& change) { return append(change, {}); }
  // The same, and in the same step these records go: for prune.h, whose change says that they did.
  // REQUIRES: they are by revision, and none is the newest version of a document.
  virtual Result<std::vector<Record>> append(const Change& change, std::span<const Record> removed) = 0;

  // The newest revision; 0: nothing was ever written.
  virtual Result<std::int64_t> revision() = 0;

  // Records above `revision` in order, at most `max`: for followers and for audits.
  virtual Result<std::vector<Record>> read_after(std::int64_t revision, std::size_t max) = 0;

  // Calls `visit` with the newest version of every document, withdrawn ones included (their versions are not
  // to be used again), in no special order. What is written meanwhile may be left out: call revision()
  // before, and read_after() that afterwards. kFailedPrecondition: the record of one is missing, or makes no
  // sense; all others were visited.
  virtual Result<void> for_each_document(const std::function<void(Record&&)>& visit) = 0;

  // Calls `visit` with the list of documents, in no special order: for audits, which compare it with the
  // records. What is written meanwhile may come twice, or be left out.
  virtual Result<void> for_each_listing(const std::function<void(Listing&&)>& visit) = 0;

  // One version of a document; none if there is no such.
  virtual Result<std::optional<Record>> find(Kind kind, std::string_view name, std::int64_t version) = 0;

  // The versions of a document below `version` (INT64_MAX: all), newest first, at most `max`.
  virtual Result<std::vector<Record>> history(Kind kind, std::string_view name, std::int64_t version,
                                              std::size_t max) = 0;

  // What this actor wrote with this request id, in order; nothing if there is no such change, or no id.
  virtual Result<std::vector<Record>> find_request(const std::string& actor,
                                                   const std::string& request_id) = 0;

  // Waits until another process may have written something, until interrupt(), or until the time is over.
  // A first wait, or one after a reconnect, may end at once: nothing is missed between reading and waiting.
  // False: the database cannot be watched at present (is it there?); comes after a short pause, so that a
  // loop around it does not spin.
  virtual bool wait(int timeout_ms) = 0;
  // Ends a wait() in progress, or the next one. Thread-safe.
  virtual void interrupt() = 0;

  // Gives up what connection there is: a call was broken off, and nobody knows what is still to be answered.
  virtual void start_over() noexcept = 0;

  // Where it is, for logs and problems, without secrets: "sqlite:./sluice.db".
  virtual std::string name() const = 0;
};

}  // namespace sluice::ledger

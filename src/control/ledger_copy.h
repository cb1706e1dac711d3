#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "ledger/record.h"

namespace sluice::control {

// What the ledger said last, in a file of the state folder: policies, users, hashes of tokens, rollouts, the
// switch. A node that starts while its database is gone goes on with that. Belongs to the control plane's
// thread.
//
//   copy.replace(revision, documents);   // all of them: at the start, once the ledger was read
//   copy.note(records);                  // what was written since
//   copy.write_if_due(now_us);           // every second
//
// A change is on disk about a second later: its own file is read, changed and written anew, without a word to
// the database. How often follows from how long that takes, so that a large copy costs no more than a
// tenth of the thread's time. Withdrawn documents and events are not kept.
class LedgerCopy {
 public:
  struct Contents {
    std::int64_t revision = 0;              // the newest one that is in it
    std::int64_t at_us = 0;                 // and when that was written
    std::vector<ledger::Record> documents;  // without hashes and request ids
  };

  // `of`: which ledger it is; another one has another file. An empty folder: nothing is kept.
  LedgerCopy(const std::string& state_dir, const std::string& of);

  const std::string& path() const { return path_; }
  // kNotFound: there is none. kFailedPrecondition: it is damaged.
  Result<Contents> read() const;

  // These are all documents there are. Writes them, if there ever were any.
  Result<void> replace(std::int64_t revision, std::span<const ledger::Record> documents);
  // These are newer. REQUIRES: replace() has succeeded, or nothing can be written.
  void note(std::span<const ledger::Record> records);
  // Writes what was noted, if it is time. `clock` tells how long it takes.
  template <class Clock>
  Result<void> write_if_due(const Clock& clock) {
    if (news_.empty() || clock.now_us() < next_write_us_) return {};
    const std::int64_t begin_us = clock.now_us();
    auto written = write_news();
    const std::int64_t end_us = clock.now_us();
    next_write_us_ = end_us + kPauseFactor * (end_us - begin_us);
    return written;
  }

 private:
  static constexpr std::int64_t kPauseFactor = 10;
  using Name = std::pair<ledger::Kind, std::string>;

  Result<void> write_news();
  Result<void> write(const Contents& contents) const;

  const std::string path_;  // empty: nothing is kept
  std::int64_t revision_ = 0, at_us_ = 0;
  std::map<Name, ledger::Record> news_;
  std::int64_t next_write_us_ = 0;
};

}  // namespace sluice::control
